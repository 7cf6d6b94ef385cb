"""Choose the domains of one reservation after the other, from the servers that those before it left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind
from libs.ras.zone_supply import ROUNDING, Supply

PASSES = 3
"""Most times that each kind of domain is chosen for a reservation, in the light of its domains of other kinds."""
TRIES = 3
"""Orders of the reservations that in a row leave no less penalty, after which the search for an order ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """The domains that R reservations may use.

    opened    of each kind, (R, N) bool
    hopeless  (R,) bool  reservations that would lack as much alone, even with their limits for one kind only
    """

    opened: Sequence[Bools]
    hopeless: Bools


def one_by_one(
    snapshot: FleetSnapshot,
    kinds: Sequence[LimitedKind],
    some: Indices,
    held: Indices,
    stay: Bools,
    ends: Callable[[], bool],
) -> Choice:
    """Choose the domains of the reservations `some` (Q,). All domains are open to others.

    held  (S,) the servers that reservations hold
    stay  (R,) reservations that keep their fullest domains
    ends  returns whether to try no further order

    The higher class chooses first, then the larger capacity. Then those that lack more than they have to are first in
    their class, as long as that leaves less penalty.
    """
    q, weight = snapshot.reservations, snapshot.penalty_weight
    worth, late = q.capacity_rru * snapshot.units_per_rru, np.zeros(len(q))
    first, alone = Chooser(snapshot, kinds, held), np.full(len(q), np.nan)
    least, best, failed = np.inf, Choice(opened=[], hopeless=np.zeros(len(q), bool)), 0
    while failed < TRIES:
        chooser, lacks = first.fresh(), np.zeros(len(q))
        opened = [np.ones((len(q), len(kind.domains)), bool) for kind in kinds]
        for r in some[np.lexsort((some, -worth[some], -late[some], -q.priority[some]))].tolist():
            found = chooser.domains(r, stay=bool(stay[r]))
            for may, chosen in zip(opened, found, strict=True):
                may[r] = chosen
            lacks[r] = chooser.claim(r, found)
            if lacks[r] > ROUNDING and np.isnan(alone[r]):
                alone[r] = first.least_lack(r)
        hopeless = (lacks > ROUNDING) & (lacks <= alone * (1 + ROUNDING))
        penalty = float(lacks @ weight)
        if penalty < least * (1 - ROUNDING):
            least, best, failed = penalty, Choice(opened=opened, hopeless=hopeless), 0
        else:
            failed += 1
        avoidable = (lacks > ROUNDING) & ~hopeless
        if not avoidable.any() or ends():
            break
        late += avoidable
    return best


def fullest(had: Ints, kind: LimitedKind, r: int) -> Indices:
    """Return the domains with most servers of reservation `r`, as many as it may have. `had` (N,) is its servers."""
    most = min(int(kind.domains_max[r]), kind.placed)
    found = np.argsort(-had[: kind.placed], kind="stable")[:most]
    return found[had[found] > 0].astype(np.int32)


class Chooser:
    """The servers that reservations may still claim, and the domains that leave one of them the least lack."""

    def __init__(self, snapshot: FleetSnapshot, kinds: Sequence[LimitedKind], held: Indices) -> None:
        self.snapshot, self.kinds, self.held = snapshot, kinds, held
        self.losses = snapshot.losses
        servers = snapshot.servers
        self.lasting, self.msb, self.datacenter = servers.lasting, snapshot.server_msb, snapshot.server_datacenter
        self.left = self.lasting & ~servers.pinned
        self.cost = np.where(held >= 0, snapshot.leaving_cost, 0.0)

    def fresh(self) -> Chooser:
        """Return the same without any claims."""
        other = copy(self)
        other.left = self.lasting & ~self.snapshot.servers.pinned
        return other

    def usable(self, r: int) -> Bools:
        """Return a (S,) mask of the servers that reservation `r` could have: its own, and those that none claimed."""
        q, servers = self.snapshot.reservations, self.snapshot.servers
        may = ((self.held == r) & self.lasting) | self.left
        worth = q.rru[r] > 0
        if not worth.all():
            may &= worth[servers.hardware_type]
        if not q.allowed[r].all():
            may &= q.allowed[r][self.datacenter]
        return np.asarray(may)

    def inside(self, r: int, domains: Sequence[Bools]) -> Bools:
        """Return a (S,) mask of the servers that reservation `r` could have in `domains` (N,) of each kind."""
        usable = self.usable(r)
        for kind, may in zip(self.kinds, domains, strict=True):
            if np.isfinite(kind.domains_max[r]):
                usable &= may[kind.of]
        return usable

    def domains(self, r: int, *, stay: bool) -> list[Bools]:
        """Return the domains (N,) of each kind for reservation `r`: all, if it has no limit for the kind."""
        first = [k for k, kind in enumerate(self.kinds) if np.isfinite(kind.domains_max[r])]
        found = self._in_order(r, first, stay=stay)
        if stay or len(first) == 1:
            return found
        lack = self.lack(r, found)
        if lack > ROUNDING:
            other = self._in_order(r, first[::-1], stay=stay)
            if self.lack(r, other) < lack * (1 - ROUNDING):
                return other
        return found

    def _in_order(self, r: int, order: Sequence[int], *, stay: bool) -> list[Bools]:
        """Return the domains of each kind. The kinds `order` are chosen one after the other, and then again in the
        light of all others.
        """
        usable, mine = self.usable(r), (self.held == r) & self.lasting
        easy = (self.held < 0) | (self.held == r)
        found = [np.ones(len(kind.domains), bool) for kind in self.kinds]
        for n in range(1 if stay or len(order) == 1 else PASSES):
            before = [may.copy() for may in found]
            for k in order:
                kind, others = self.kinds[k], np.ones(len(usable), bool)
                for j in order:
                    if j != k and (n or order.index(j) < order.index(k)):
                        others &= found[j][self.kinds[j].of]
                supply = Supply.of(self.snapshot, self.losses, kind, r, usable & others, easy)
                had = np.bincount(kind.of[mine if stay else mine & others], minlength=len(kind.domains))
                begin = found[k] & (supply.may | (had > 0))
                if not n:
                    begin = np.zeros(len(kind.domains), bool)
                    begin[fullest(had, kind, r)] = True
                found[k] = self._chosen(supply, begin, min(int(kind.domains_max[r]), kind.placed), stay=stay)
            if all(np.array_equal(a, b) for a, b in zip(before, found, strict=True)):
                break
        return found

    @staticmethod
    def _chosen(supply: Supply, begin: Bools, most: int, *, stay: bool) -> Bools:
        """Return `most` domains (N,): those of `begin` (N,) and further ones, or others that leave less lack."""
        chosen = supply.extended(begin, most)
        lack = supply.lacks(chosen)[0]
        if stay or lack <= ROUNDING * max(1.0, float(supply.capacity[0])):
            return chosen
        other = supply.best(most)
        return other if supply.lacks(other)[0] < lack * (1 - ROUNDING) else chosen

    def lack(self, r: int, domains: Sequence[Bools]) -> float:
        """Return the RRU that reservation `r` lacks after its worst loss in `domains` (N,) of each kind."""
        return self._lack(r, self.inside(r, domains))

    def _lack(self, r: int, has: Bools) -> float:
        every = self.kinds[0]
        supply = Supply.of(self.snapshot, self.losses, every, r, has, has)
        return supply.lacks(np.ones(len(every.domains), bool))[0]

    def least_lack(self, r: int) -> float:
        """Return the RRU that reservation `r` lacks in the best domains of one kind, for its worst kind."""
        usable, found = self.usable(r), 0.0
        for kind in self.kinds:
            if np.isfinite(kind.domains_max[r]):
                supply = Supply.of(self.snapshot, self.losses, kind, r, usable, usable)
                best = supply.best(min(int(kind.domains_max[r]), kind.placed))
                found = max(found, supply.lacks(best)[0])
        return found

    def claim(self, r: int, domains: Sequence[Bools]) -> float:
        """Claim servers for reservation `r`: its own, then free ones, then the cheapest others, evenly over MSBs.

        Return the RRU that it lacks then.
        """
        usable = self.inside(r, domains)
        rows = np.flatnonzero(usable)
        tier = np.where(self.held[rows] == r, 0, np.where(self.held[rows] < 0, 1, 2))
        msb = self.msb[rows]
        by_msb = np.lexsort((rows, tier, msb))
        nth = np.empty(len(rows), np.int64)
        nth[by_msb] = np.arange(len(rows)) - np.searchsorted(msb[by_msb], msb[by_msb])
        order = np.lexsort((nth, self.cost[rows], tier))
        buffer = 1.0
        if any(loss.survives[r] for loss in self.losses):
            buffer += 1.0 / max(1, len(np.unique(msb)) - 1)
        needed = np.zeros(len(rows), bool)
        for one in self.snapshot.measures_of(r):
            gives = one.rru[0, self.snapshot.servers.hardware_type[rows[order]]]
            needed |= (gives > 0) & (np.cumsum(gives) - gives < one.capacity[0] * buffer)
        self.left[rows[order[needed]]] = False
        return self._lack(r, usable)
