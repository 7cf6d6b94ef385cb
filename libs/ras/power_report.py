"""Report the power of domains before and after a plan, and in a what-if. Source: RAS, 4.4 and figure 14."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.domain_kind import MSB_KIND
from libs.domain.fleet import FleetSnapshot
from libs.domain.power import DomainPower, variance_of
from libs.domain.power_balance import msb_all_w, msb_w
from libs.domain.power_use import by_limit, drawn_w, fed_kinds

SHOWN_MAX = 200
"""Most domains of a report: the fullest ones, or those of a what-if in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReport:
    """The power of a region before and after a plan.

    variance_before, variance_after  over MSBs, of the W drawn as shares of the W of all servers in full
    fullest_before, fullest_after    the largest of these shares
    domains                          the MSBs, and the other domains with a limit, the fullest first. `current_w` is
                                     by present targets, and `target_w` by those of the plan
    """

    variance_before: float | None
    variance_after: float | None
    fullest_before: float
    fullest_after: float
    domains: tuple[DomainPower, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the report for JSON."""
        return {**asdict(self), "domains": [asdict(one) for one in self.domains[:SHOWN_MAX]]}


def report_power(snapshot: FleetSnapshot, before: Indices, after: Indices) -> PowerReport | None:
    """Return the power of the region with the bindings `before` (S,) and `after` (S,); None without watts."""
    power = snapshot.power
    if power is None:
        return None
    every = msb_all_w(snapshot)
    was, now = msb_w(snapshot, before), msb_w(snapshot, after)
    limits = {(one.kind, one.domain): (one.limit_w, one.headroom) for one in power.limits}
    found = []
    for m, name in enumerate(map(str, snapshot.topology.msbs)):
        found.append(_domain(MSB_KIND, name, (was[m], now[m], every[m]), limits.get((MSB_KIND, name))))
    bound = before >= 0, after >= 0, np.ones(len(before), bool)
    sums = np.array([by_limit(snapshot, drawn_w(snapshot, one)) for one in bound])
    for row, one in enumerate(power.limits):
        if one.kind != MSB_KIND and sums[2, row] > 0:
            found.append(_domain(one.kind, one.domain, tuple(sums[:, row]), (one.limit_w, one.headroom)))
    found.sort(key=_fullness, reverse=True)
    most = np.where(every > 0, every, np.inf)
    return PowerReport(
        variance_before=variance_of(was, every),
        variance_after=variance_of(now, every),
        fullest_before=float((was / most).max(initial=0.0)),
        fullest_after=float((now / most).max(initial=0.0)),
        domains=tuple(found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPowerDifference:
    """A domain with a limit on power, now and in a what-if.

    In the names of fields, `now` means the present region. `at_once` means the what-if before any server moves, and
    `after` the what-if with the answer. Servers draw by their targets.

    limit_w   W that the domain can feed; None: it has no limit now
    headroom  share of limit_w that plans keep free
    drawn_w   W that the servers of the domain draw
    free_w    W below the limit less its headroom; negative: so many W are above it
    """

    kind: str
    domain: str
    limit_w_now: float | None
    headroom_now: float | None
    drawn_w_now: float
    free_w_now: float | None
    limit_w: float
    headroom: float
    drawn_w_at_once: float
    free_w_at_once: float
    drawn_w_after: float
    free_w_after: float


def compare_power(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> tuple[DomainPowerDifference, ...]:
    """Compare the domains with a limit in the what-if `imagined`: now, at once, and with its answer `target` (S',).

    Limits that the what-if changes come first, and then the domains with least power to spare.
    """
    if imagined.power is None:
        return ()
    here = () if before.power is None else before.power.limits
    had = {(one.kind, one.domain): one for one in here}
    limits = imagined.power.limits
    # the limits of the what-if, so that domains without a limit now are counted too
    stands = replace(before, power=replace(imagined.power, part=None))
    was, shocked, becomes = (
        by_limit(snapshot, drawn_w(snapshot, binding >= 0))
        for snapshot, binding in (
            (stands, before.servers.target),
            (imagined, imagined.servers.target),
            (imagined, target),
        )
    )
    found = []
    for row in np.concatenate([one.rows for one in fed_kinds(imagined)] or [np.zeros(0, np.int32)]).tolist():
        limit, old = limits[row], had.get((limits[row].kind, limits[row].domain))
        found.append(
            DomainPowerDifference(
                kind=limit.kind,
                domain=limit.domain,
                limit_w_now=None if old is None else old.limit_w,
                headroom_now=None if old is None else old.headroom,
                drawn_w_now=float(was[row]),
                free_w_now=None if old is None else old.allowed_w - float(was[row]),
                limit_w=limit.limit_w,
                headroom=limit.headroom,
                drawn_w_at_once=float(shocked[row]),
                free_w_at_once=limit.allowed_w - float(shocked[row]),
                drawn_w_after=float(becomes[row]),
                free_w_after=limit.allowed_w - float(becomes[row]),
            )
        )
    found.sort(key=lambda one: ((one.limit_w_now, one.headroom_now) == (one.limit_w, one.headroom), one.free_w_after))
    return tuple(found)


def _domain(kind: str, name: str, drawn: tuple[float, float, float], limit: tuple[float, float] | None) -> DomainPower:
    limit_w, headroom = limit or (None, None)
    current_w, target_w, full_w = map(float, drawn)
    return DomainPower(
        kind=kind,
        domain=name,
        current_w=current_w,
        target_w=target_w,
        full_w=full_w,
        limit_w=limit_w,
        headroom=headroom,
    )


def _fullness(one: DomainPower) -> float:
    most = one.full_w if one.limit_w is None else one.limit_w
    return one.target_w / most if most > 0 else 0.0
