"""A region of shared buffers whose servers fail one by one, with the replacements that are drawn for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from libs.domain.replacement import LossVerdict, Replacements
from libs.domain.reservation import ReservationSpec
from libs.plan_check.replacement import check_replacements
from libs.ras.replacement import plan_replacements
from tests.builders.failures import failures_snapshot
from tests.builders.region import NO_DOMAINS

WEB = ReservationSpec(capacity_rru=54, rru={"hw-a": 1.0})
SPARE = ReservationSpec(capacity_rru=24, rru={"hw-a": 1.0}, survives_msb_loss=False)


class FailingRegion:
    """Four MSBs of four racks of six servers. Each MSB has 18 servers of web, which needs 54, and six spare ones.

    more   further reservations
    """

    def __init__(
        self,
        web: ReservationSpec = WEB,
        domains: Mapping[str, Mapping[str, str]] = NO_DOMAINS,
        more: Mapping[str, ReservationSpec] = MappingProxyType({}),
    ) -> None:
        self.target = {f"server-{i:02d}": "web" if i % 24 < 18 else "spare" for i in range(96)}
        self.down_at: dict[str, float] = {}
        self.swapped: dict[str, str] = {}
        self.event_domain: dict[str, int] = {}
        self.web, self.domains, self.more = web, domains, more

    def draw(self, now_s: float) -> Replacements:
        """Decide, check, and bind the servers as decided."""
        failures = failures_snapshot(
            datacenters=2,
            msbs=4,
            racks_per_msb=4,
            servers_per_rack=6,
            reservations={"web": self.web, "spare": SPARE, **self.more},
            domains=self.domains,
            kind={"spare": "shared_buffer"},
            current=self.target,
            down=self.down_at,
            down_s={name: now_s - at_s for name, at_s in self.down_at.items()},
            swapped=self.swapped,
            event_domain=self.event_domain,
        )
        found = plan_replacements(failures)
        assert check_replacements(failures, found.plan) == []
        servers = failures.fleet.servers
        for row in np.flatnonzero(found.plan.target != servers.target):
            name, to = str(servers.name[row]), str(failures.fleet.reservations.name[found.plan.target[row]])
            self.swapped[name], self.target[name] = self.target[name], to
        return found

    def spares_drawn(self) -> int:
        """Return the number of servers of web that were spare at first, without those that are down."""
        now_web = {int(name[-2:]) for name, to in self.target.items() if to == "web" and name not in self.down_at}
        return sum(i % 24 >= 18 for i in now_web)

    def spares_up(self) -> int:
        return sum(to == "spare" and name not in self.down_at for name, to in self.target.items())

    def counted(self, now_s: float) -> Counter[LossVerdict]:
        """Return how often each verdict was given in a draw."""
        return Counter(self.draw(now_s).verdict)
