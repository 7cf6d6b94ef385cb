"""Choose the domains of reservations that may lie in a few domains only, before a solve states its problem.

The choice divides the servers into zones, and a zone is open to some reservations. See docs/designs/0054.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds
from libs.plan_check.hard_limits import beyond_domains, servers_by_domain
from libs.ras.zones_together import choose_together

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Zones:
    """The Z zones of a region. Servers of one zone are open to the same reservations, by the domains chosen for them.

    of    (S,) int    the zone of each server
    open  (R, Z) bool whether a reservation may have servers of a zone
    gone  (R,) bool   whether a reservation is to leave a domain that is among those with most of its servers
    """

    of: Indices
    open: Bools
    gone: Bools

    def with_open(self, servers: int) -> Zones:
        """Return the zones with more servers at the end, which are open to every reservation."""
        if not servers:
            return self
        of = np.append(self.of, np.full(servers, self.open.shape[1], self.of.dtype))
        return replace(self, of=of, open=np.append(self.open, np.ones((len(self.open), 1), bool), axis=1))


def choose_zones(
    snapshot: FleetSnapshot,
    binding: Indices | None = None,
    *,
    stay: Bools | None = None,
    time_s_max: float = math.inf,
    cancelled: Callable[[], bool] | None = None,
) -> Zones | None:
    """Choose domains for each reservation with a `domains_max`, as many as it allows. None: no reservation has one.

    binding     (S,) the servers that reservations hold; None: the targets
    stay        (R,) reservations that keep their fullest domains, even if these cannot give the capacity
    time_s_max  seconds for a choice of all domains together
    cancelled   returns whether to end that choice

    A reservation keeps the domains in which it holds most servers, unless they cannot give its capacity. Otherwise it
    gets those that leave it the least lack. Of equally good ones it gets those with most RRU that need no move. One
    reservation after the other claims servers: the higher class first, then the larger capacity. If one is then short,
    all are chosen together.
    """
    limited = [kind for kind in limited_kinds(snapshot) if np.isfinite(kind.domains_max).any()]
    if not limited:
        return None
    q = snapshot.reservations
    held = snapshot.servers.target if binding is None else binding
    chooser = _Chooser(snapshot, held)
    some = np.flatnonzero(np.any([np.isfinite(kind.domains_max) for kind in limited], axis=0))
    worth = q.capacity_rru * snapshot.units_per_rru
    counts = [servers_by_domain(snapshot, kind, held) for kind in limited]
    stays = np.zeros(len(q), bool) if stay is None else stay
    opened: Sequence[Bools] = [np.ones((len(q), len(kind.domains)), bool) for kind in limited]
    for r in some[np.lexsort((some, -worth[some], -q.priority[some]))].tolist():
        usable = chooser.usable(r)
        for kind, had, may in zip(limited, counts, opened, strict=True):
            if np.isfinite(kind.domains_max[r]):
                may[r] = chooser.domains(r, kind, had[r, : kind.placed], usable, stay=bool(stays[r]))
                usable = usable & may[r][kind.of]
        chooser.claim(r, usable)
    opened = choose_together(
        snapshot,
        limited,
        opened,
        some.astype(np.int32),
        _Chooser(snapshot, held).usable,
        held,
        stays,
        time_s_max=time_s_max,
        cancelled=cancelled,
    )
    gone = np.zeros(len(q), bool)
    for kind, had, may in zip(limited, counts, opened, strict=True):
        for r in np.flatnonzero(np.isfinite(kind.domains_max)).tolist():
            gone[r] |= bool((~may[r][fullest(had[r, : kind.placed], kind, r)]).any())
    return _zones(limited, opened, gone)


def fullest(had: Ints, kind: LimitedKind, r: int) -> Indices:
    """Return the domains with most servers of reservation `r`, as many as it may have. `had` (N,) is its servers."""
    most = min(int(kind.domains_max[r]), kind.placed)
    found = np.argsort(-had, kind="stable")[:most]
    return found[had[found] > 0].astype(np.int32)


def _zones(limited: list[LimitedKind], opened: Sequence[Bools], gone: Bools) -> Zones:
    """Return the zones: servers whose domains are open to the same reservations are in one zone."""
    zone = np.zeros(len(limited[0].of), np.int64)
    table = np.ones((len(opened[0]), 1), bool)
    for kind, may in zip(limited, opened, strict=True):
        columns, group = np.unique(may, axis=1, return_inverse=True)
        pairs, zone = np.unique(zone * columns.shape[1] + group.reshape(-1)[kind.of], return_inverse=True)
        was, now = np.divmod(pairs, columns.shape[1])
        table = table[:, was] & columns[:, now]
    return Zones(of=zone.astype(np.int32), open=table, gone=gone)


def _among(kind: LimitedKind, chosen: list[int]) -> Bools:
    """Return a (N,) mask of the domains `chosen` of a kind."""
    found = np.zeros(len(kind.domains), bool)
    found[chosen] = True
    return found


class _Chooser:
    """The servers that reservations may still claim, and what each domain could give."""

    def __init__(self, snapshot: FleetSnapshot, held: Indices) -> None:
        self.snapshot, self.held = snapshot, held
        self.losses = snapshot.losses
        servers = snapshot.servers
        self.open = servers.lasting & ~servers.pinned
        self.claimed = np.zeros(len(servers), bool)
        self.cost = np.where(held >= 0, snapshot.leaving_cost, 0.0)

    def usable(self, r: int) -> Bools:
        """Return a (S,) mask of the servers that reservation `r` could have: its own, and those that none claimed."""
        q, servers = self.snapshot.reservations, self.snapshot.servers
        mine = self.held == r
        worth = q.rru[r, servers.hardware_type] > 0
        may = (mine & servers.lasting) | (self.open & ~self.claimed)
        return np.asarray(may & worth & q.allowed[r, self.snapshot.server_datacenter])

    def domains(self, r: int, kind: LimitedKind, had: Ints, usable: Bools, *, stay: bool) -> Bools:
        """Return the domains (N,) of a kind that are open to reservation `r`. Servers without a place never are."""
        most = min(int(kind.domains_max[r]), kind.placed)
        chosen = fullest(had, kind, r).tolist()
        lacks = self.lacks(r, usable & _among(kind, chosen)[kind.of])
        if not stay and lacks > _ROUNDING * max(1.0, float(self.snapshot.reservations.capacity_rru[r])):
            other = self._extended(r, kind, usable, [], most)
            if self.lacks(r, usable & _among(kind, other)[kind.of]) < lacks * (1 - _ROUNDING) and len(chosen) == most:
                chosen = other
        if len(chosen) < most:
            chosen = self._extended(r, kind, usable, chosen, most)
        return _among(kind, chosen)

    def _extended(self, r: int, kind: LimitedKind, usable: Bools, chosen: list[int], most: int) -> list[int]:
        """Return the domains `chosen` and further ones, `most` in all. Each next one leaves the least lack, and then
        has the most RRU that need no move.
        """
        q, servers = self.snapshot.reservations, self.snapshot.servers
        rru = q.rru[r, servers.hardware_type] * usable
        easy = np.bincount(kind.of, rru * ((self.held < 0) | (self.held == r)), len(kind.domains))
        total = np.bincount(kind.of, rru, len(kind.domains))
        chosen = list(chosen)
        while len(chosen) < most:
            left = np.setdiff1d(np.flatnonzero(total[: kind.placed] > 0), chosen)
            if not len(left):
                return chosen
            lacks = np.array([self.lacks(r, usable & _among(kind, [*chosen, int(d)])[kind.of]) for d in left])
            needed = np.minimum(easy[left], q.capacity_rru[r])
            order = np.lexsort((left, -easy[left], -needed, lacks.round(9)))
            chosen.append(int(left[order[0]]))
        return chosen

    def lacks(self, r: int, has: Bools) -> float:
        """Return the RRU that reservation `r` lacks after its worst loss if it has the servers `has` (S,).

        A resource that lacks counts by its share of what is asked for.
        """
        rows = np.flatnonzero(has)
        found = 0.0
        for one in self.snapshot.measures_of(r):
            gives = one.rru[0, self.snapshot.servers.hardware_type[rows]]
            lost = [
                np.bincount(loss.of[rows], gives, len(loss.domains)).max(initial=0.0)
                for loss in self.losses
                if loss.survives[r]
            ]
            lacks = one.capacity[0] - gives.sum() + max(lost, default=0.0)
            found = max(found, float(lacks * one.share[0]))
        return found

    def claim(self, r: int, usable: Bools) -> None:
        """Claim servers for reservation `r`: its own, then free ones, then the cheapest others, evenly over MSBs."""
        servers = self.snapshot.servers
        rows = np.flatnonzero(usable)
        tier = np.where(self.held[rows] == r, 0, np.where(self.held[rows] < 0, 1, 2))
        msb = self.snapshot.server_msb[rows]
        by_msb = np.lexsort((rows, tier, msb))
        nth = np.empty(len(rows), np.int64)
        nth[by_msb] = np.arange(len(rows)) - np.searchsorted(msb[by_msb], msb[by_msb])
        order = np.lexsort((nth, self.cost[rows], tier))
        buffer = 1.0
        if any(loss.survives[r] for loss in self.losses):
            buffer += 1.0 / max(1, len(np.unique(msb)) - 1)
        needed = np.zeros(len(rows), bool)
        for one in self.snapshot.measures_of(r):
            gives = one.rru[0, servers.hardware_type[rows[order]]]
            needed |= (gives > 0) & (np.cumsum(gives) - gives < one.capacity[0] * buffer)
        self.claimed[rows[order[needed]]] = True


def scattered(snapshot: FleetSnapshot, target: Indices) -> Bools:
    """Return a (R,) mask of the reservations that `target` (S,) scatters over more domains than their targets do."""
    worse = np.zeros(len(snapshot.reservations), bool)
    for kind in limited_kinds(snapshot):
        had, has = (
            beyond_domains(servers_by_domain(snapshot, kind, binding), kind.placed, kind.domains_max)
            for binding in (snapshot.servers.target, target)
        )
        worse |= has > had
    return worse
