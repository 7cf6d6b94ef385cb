"""The systems around the platform as the demo needs them, each with a trouble that comes once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from libs.reconcile.clock import Clock
from services.cli.demo.flux.outside import SECRET, Document, Outside
from services.cli.demo.flux.traffic import TrafficSystem
from services.cli.demo.flux.world import EAST, HEADROOM, REGIONS, STATEFUL, WEST, used_at_peak

OUTAGE_CYCLE, TEST_CYCLE, ERRORS_CYCLE = 1, 1, 2
_OUTAGE = timedelta(hours=2)
_ERRORS_FROM = 0.5
"""Fraction of a shift that shows the errors of a product in the region that it goes to."""
_WORSE = 1.5
"""Real need of the service whose load test fails, as a share of the need by its traces."""
FAILING = ("image", EAST)
"""The service whose load test fails, and its region."""


@dataclass(slots=True, kw_only=True)
class Troubles:
    """The troubles, and when they came.

    cycle      the present cycle; 0: none has begun
    replicas   (service, region) -> capacity that its replicas use, for those that were asked about
    outage     when the portal of the west went down
    failed     when the load test failed
    erring     the product and region with errors
    errors, mended   when its errors began, and when its traffic had gone back and the cause was removed
    """

    clock: Clock
    traffic: TrafficSystem
    cycle: int = 0
    replicas: dict[tuple[str, str], float] = field(default_factory=dict)
    outage: datetime | None = None
    failed: datetime | None = None
    erring: tuple[str, str] | None = None
    errors: datetime | None = None
    mended: datetime | None = None

    def portal_is_down(self, region: str) -> bool:
        """Return whether the portal of a region is down: that of the west, from the first call of an execution on."""
        if region != WEST or self.cycle != OUTAGE_CYCLE:
            return False
        self.outage = self.outage or self.clock.now()
        return self.clock.now() < self.outage + _OUTAGE

    def shift(self, body: Document) -> None:
        """Move traffic. The first shift of its cycle that brings enough of it has errors until all of it is back."""
        self.traffic.shift(body)
        name = body["product"], body["to_region"]
        if self.cycle == ERRORS_CYCLE and self.erring is None and _ERRORS_FROM <= body["fraction"] < 1:
            self.erring, self.errors = name, self.clock.now()
        elif self.erring == name and body["fraction"] == 0:
            self.mended = self.clock.now()

    def set_replicas(self, body: Document) -> None:
        """Let the replicas of a service use as much capacity as the call says."""
        self.replicas[body["service"], body["region"]] = body["after"]

    def error_rate(self, labels: Mapping[str, str]) -> float:
        """Return the share of a product's requests in a region that fail."""
        return 0.05 if (labels["product"], labels["region"]) == self.erring and self.mended is None else 0.002

    def load_test(self, body: Document) -> bool:
        """Return whether a service would serve its present traffic with the capacity after a downsize."""
        place = body["service"], body["region"]
        needed = used_at_peak(self.traffic.shop.now())[place]
        worse = _WORSE if place == FAILING and self.cycle == TEST_CYCLE else 1.0
        passed = bool(body["after"] * (1 + HEADROOM) >= needed * worse)
        self.failed = self.failed or (None if passed else self.clock.now())
        return passed

    def missing(self) -> list[str]:
        """Return the troubles that did not come."""
        found = {
            "replicas": self.replicas or None,
            "outage": self.outage,
            "failed load test": self.failed,
            "bad gate": self.errors,
            "mended": self.mended,
        }
        return [name for name, at in found.items() if at is None]


def outside_of(troubles: Troubles) -> Outside:
    """Return the systems around the platform."""
    found = Outside(
        shift=troubles.shift,
        replicas=troubles.set_replicas,
        load_test=troubles.load_test,
        measure=troubles.error_rate,
    )
    found.portals.closed = troubles.portal_is_down
    return found


def environment(outside: Outside, folder: Path, token_file: Path) -> dict[str, str]:
    """Return the variables that lead the platform to the systems around it. Writes the file of portals."""
    regions = {region: {"url": f"{outside.url}/portals/{region}", "token_file": str(token_file)} for region in REGIONS}
    portals = folder / "portals.json"
    portals.write_text(json.dumps({"regions": regions}))
    return {
        "PLIMSOLL_RESIZE_CARRIER": "portal",
        "PLIMSOLL_PORTALS": str(portals),
        "PLIMSOLL_SHIFT_CARRIER": "webhook",
        "PLIMSOLL_TRAFFIC_URL": f"{outside.url}/traffic",
        "PLIMSOLL_TRAFFIC_SECRET": SECRET,
        "PLIMSOLL_REPLICAS_URL": f"{outside.url}/replicas",
        "PLIMSOLL_REPLICAS_SECRET": SECRET,
        "PLIMSOLL_REPLICAS_SERVICES": json.dumps([STATEFUL]),
        "PLIMSOLL_LOAD_TEST_URL": f"{outside.url}/load-tests",
        "PLIMSOLL_LOAD_TEST_SECRET": SECRET,
        "PLIMSOLL_GATE_PROMETHEUS_URL": f"{outside.url}/prometheus",
        "PLIMSOLL_GATE_EVERY_S": "1200",
        "PLIMSOLL_TRACE_WINDOW_S": "2",
        "PLIMSOLL_PLAN_WINDOW_DAYS": "1",
        "PLIMSOLL_PLAN_STEP_DAYS": "1",
    }
