"""The estimated effect of a what-if as JSON: the answer to a dry run of a simulation."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from libs.domain.simulation import WhatIf
from libs.ras.estimate import RESERVATIONS_SHOWN_MAX, Estimate
from libs.ras.power_report import SHOWN_MAX as POWER_SHOWN_MAX
from libs.web.model import ResponseModel

COVERS = (
    "An estimate without a solve. Shortfalls now and at once are exact. With free servers: reservations that are short "
    "get the free servers, by priority and within limits on power, and no server leaves a reservation. Those that ask "
    "for limits per kind of domain, further kinds to survive or resources get none, because only a solve weighs "
    "these. Only a simulation tells what exchanges between reservations could mend, and the moves and costs; spread, "
    "affinity and weights count there alone."
)


class ShortfallOut(ResponseModel):
    """The number of reservations that are short, and the RRU that they lack in total."""

    reservations_short: int
    shortfall_rru: float


class ReservationEstimateOut(ResponseModel):
    """A reservation that the what-if resizes, or that is short."""

    reservation: str
    capacity_rru_now: float = Field(description="0: it is new")
    capacity_rru: float
    most_rru: float = Field(
        description="The most that the region could give it without other reservations. Its affinity does not count. "
        "If it is below capacity_rru, no state of the region can meet it"
    )
    short_of: str | None = Field(
        description="The resource or guest of which it is short at once; null: its own RRU, or not short"
    )
    short_rru_now: float
    short_rru_at_once: float = Field(description="Before any server moves")
    short_rru_with_free: float = Field(description="Once it has its part of the free servers")
    taken_servers: int = Field(description="Free servers that it gets")
    missing_servers: int = Field(description="Further servers that it needs at least, if of missing_hardware_type")
    missing_hardware_type: str | None = Field(description="null: it misses none, or may use no type of the region")
    needs_solve: bool = Field(
        description="Whether only a solve can tell which free servers would help it: it gets none here, and "
        "missing_servers is 0"
    )
    spare_servers: int = Field(description="Servers that it could give back at least, if it is resized")


class HardwareTypeEstimateOut(ResponseModel):
    """Servers of one hardware type."""

    hardware_type: str
    free_now: int
    free_at_once: int
    taken: int = Field(description="Free servers that reservations get")
    missing: int = Field(description="Further servers that reservations need at least")


class DomainPowerEstimateOut(ResponseModel):
    """A domain with a limit on power. Its servers draw by their targets."""

    kind: str
    domain: str
    limit_w_now: float | None = Field(description="W that it can feed; null: it has no limit now")
    headroom_now: float | None = Field(description="Share of it that plans keep free")
    limit_w: float
    headroom: float
    free_w_now: float | None = Field(description="W below the limit less its headroom; negative: W above")
    free_w_at_once: float = Field(description="Before any server moves")


class UplinksAboveOut(ResponseModel):
    """The racks above the limits of their uplinks at one moment."""

    racks: int
    gbit: float = Field(description="Gbit/s above these limits, added up")


class RackEstimateOut(ResponseModel):
    """A rack with a limit on its uplink, now or in the what-if. Its servers send by their targets."""

    rack: str
    limit_gbit_now: float | None = Field(description="Gbit/s that it may send; null: it has no limit now")
    sent_gbit_now: float
    free_gbit_now: float | None = Field(description="Gbit/s below the limit; negative: Gbit/s above")
    limit_gbit: float | None = Field(description="null: it would have no limit")
    sent_gbit_at_once: float
    free_gbit_at_once: float | None = Field(description="Before any server moves; null: it would have no limit")


class UplinksEstimateOut(ResponseModel):
    """The uplinks of racks."""

    limits: int = Field(description="All racks with a limit")
    now: UplinksAboveOut
    at_once: UplinksAboveOut
    racks: list[RackEstimateOut] = Field(
        description=f"At most {POWER_SHOWN_MAX} racks with a limit. Limits that the what-if changes come first, then "
        "the racks with least to spare"
    )


class SimulationEstimateOut(ResponseModel):
    """The estimated effect of a what-if. Nothing is kept of it."""

    region: str
    what_if: dict[str, Any] = Field(description="The assumed changes")
    applicable: bool = Field(description="Whether a plan can bring all of it about, as for a simulation")
    covers: str = Field(description="What the estimate covers, and what only a simulation tells", examples=[COVERS])
    now: ShortfallOut
    at_once: ShortfallOut
    with_free: ShortfallOut
    taken_servers: int = Field(description="Free servers that reservations get")
    missing_servers: int = Field(description="Further servers that reservations need at least")
    needing_solve: int = Field(
        description="Reservations with needs_solve; above 0, with_free is the most that may be short"
    )
    spare_servers: int = Field(description="Servers that resized reservations could give back at least")
    reservations: list[ReservationEstimateOut] = Field(
        description=f"At most {RESERVATIONS_SHOWN_MAX}; those that lose most come first"
    )
    reservations_affected: int = Field(description="All that are resized or short")
    hardware_types: list[HardwareTypeEstimateOut]
    power: list[DomainPowerEstimateOut] = Field(
        description=f"At most {POWER_SHOWN_MAX} domains with a limit on power. Limits that the what-if changes come "
        "first, then the domains with least power to spare"
    )
    power_limits: int = Field(description="All domains with a limit on power")
    uplinks: UplinksEstimateOut | None = Field(description="null: no rack has a limit on its uplink")


def estimate_out(region: str, what_if: WhatIf, found: Estimate) -> SimulationEstimateOut:
    """Return the JSON model of an estimate."""
    values = {name: getattr(found, name) for name in SimulationEstimateOut.model_fields if hasattr(found, name)}
    values |= {"region": region, "what_if": what_if.as_dict(), "applicable": not what_if.not_decisions}
    return SimulationEstimateOut.model_validate(values | {"covers": COVERS})
