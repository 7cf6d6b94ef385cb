"""Read the orchestrator's settings from the environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from libs.carriers import portal, replicas, simulated, webhook
from libs.carriers.carrier import Carrier
from libs.carriers.unset import NoCarrier
from libs.domain.service_reservation import ServiceReservation
from libs.gauges import load_test, prometheus
from libs.gauges.gauge import Gauge
from libs.reconcile.clock import Clock, SystemClock
from libs.reconcile.environment import Settings
from services.orchestrator.systems import Systems


class OrchestratorSettings(Settings):
    """The systems that carry out plans. Without a carrier nothing is resized or shifted, and the actions say so.

    gate_every_s   least seconds between two readings of a gate
    """

    resize_carrier: Literal["portal", "simulated"] | None = Field(
        default=None, validation_alias="PLIMSOLL_RESIZE_CARRIER"
    )
    shift_carrier: Literal["webhook", "simulated"] | None = Field(
        default=None, validation_alias="PLIMSOLL_SHIFT_CARRIER"
    )
    replicas_url: str | None = Field(default=None, validation_alias="PLIMSOLL_REPLICAS_URL")
    gate_prometheus_url: str | None = Field(default=None, validation_alias="PLIMSOLL_GATE_PROMETHEUS_URL")
    load_test_url: str | None = Field(default=None, validation_alias="PLIMSOLL_LOAD_TEST_URL")
    gate_every_s: float = Field(default=60.0, ge=1, le=86_400, validation_alias="PLIMSOLL_GATE_EVERY_S")

    def systems(self, clock: Clock, reservations: Iterable[ServiceReservation] = ()) -> Systems:
        """Return the systems that the environment names.

        reservations   the reservation of each service, for the carrier `portal`
        """
        resizes = self._resizes(clock, reservations)
        gauges: dict[str, Gauge] = {}
        if self.gate_prometheus_url:
            gauges["prometheus"] = prometheus.create(clock)
        if self.load_test_url:
            gauges["load_test"] = load_test.create(clock)
        return Systems(
            resizes=replicas.create(resizes) if self.replicas_url else resizes,
            shifts=self._shifts(clock),
            gauges=gauges,
            read_every_s=self.gate_every_s,
        )

    def _resizes(self, clock: Clock, reservations: Iterable[ServiceReservation]) -> Carrier:
        match self.resize_carrier:
            case "portal":
                return portal.create(reservations)
            case "simulated":
                return simulated.create(clock)
        return NoCarrier("PLIMSOLL_RESIZE_CARRIER")

    def _shifts(self, clock: Clock) -> Carrier:
        match self.shift_carrier:
            case "webhook":
                return webhook.create(clock)
            case "simulated":
                return simulated.create(clock)
        return NoCarrier("PLIMSOLL_SHIFT_CARRIER")


def read_job_settings() -> None:
    """Read all settings of the orchestrator's jobs. Raises ValidationError or ValueError for a wrong one."""
    OrchestratorSettings().systems(SystemClock())
