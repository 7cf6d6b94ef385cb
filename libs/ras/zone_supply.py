"""Find the few domains of a kind that leave a reservation the least lack, by the servers that each could give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.domain_kind import DomainLoss
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind

ROUNDING = 1e-6


def _summed(of: Indices | Ints, rru: Floats, groups: int) -> Floats:
    """Return the (groups,) sums of `rru` (n,) over the groups `of` (n,)."""
    return np.bincount(of, rru, groups).astype(np.float64, copy=False)  # ints if there are none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lost:
    """The P pairs of a domain and a domain that may be lost with what is in both, in order of the first.

    of      (P,)      the domain
    lost    (P,)      the domain that may be lost
    rru     (P,) RRU  what is in both
    first   (E,)      the first pair of each of the E domains that have one
    within  (E,)      those domains
    """

    of: Ints
    lost: Ints
    rru: Floats
    first: Ints
    within: Ints

    @classmethod
    def at(cls, of: Indices, domains: int, loss: DomainLoss, rows: Ints, rru: Floats) -> _Lost:
        """Return the pairs of servers that are in the rows `rows` (n,) of the region, and give `rru` (n,).

        of  (n,)  the domain of each, one of `domains`
        """
        others = len(loss.domains)
        both = _summed(of * np.int64(others) + loss.of[rows], rru, domains * others)
        pair = np.flatnonzero(both)
        within, first = np.unique(pair // others, return_index=True)
        return cls(of=pair // others, lost=pair % others, rru=both[pair], first=first, within=within)

    def most(self, chosen: Bools) -> tuple[float, Floats]:
        """Return the RRU of the worst loss of the domains `chosen` (N,), and (N,) of these and each other one."""
        inside = chosen[self.of]
        base = _summed(self.lost[inside], self.rru[inside], int(self.lost.max(initial=-1)) + 1)
        worst = float(base.max(initial=0.0))
        found = np.full(len(chosen), worst)
        if len(self.first):
            each = base[self.lost] + np.where(inside, 0.0, self.rru)
            found[self.within] = np.maximum(worst, np.maximum.reduceat(each, self.first))
        return worst, found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Supply:
    """The servers that the N domains of a kind could give a reservation: in each measure, and after each loss.

    may      (N,) bool  domains with a place that could give something
    easy     (N,) RRU   of servers that need no move: its own, and free ones
    capacity (Q,) RRU   what it asks for in each measure
    share    (Q,)       factor that turns a measure into a share of its RRU
    given    (Q, N) RRU
    lost                of each measure, the losses that the reservation survives
    """

    may: Bools
    easy: Floats
    capacity: Floats
    share: Floats
    given: Floats
    lost: Sequence[Sequence[_Lost]]

    @classmethod
    def of(
        cls,
        snapshot: FleetSnapshot,
        losses: Sequence[DomainLoss],
        kind: LimitedKind,
        r: int,
        usable: Bools,
        easy: Bools,
    ) -> Supply:
        """Return what reservation `r` could have of the servers `usable` (S,), of which `easy` (S,) need no move."""
        rows, N, measures = np.flatnonzero(usable), len(kind.domains), snapshot.measures_of(r)
        of, types = kind.of[rows], snapshot.servers.hardware_type[rows]
        gives = [one.rru[0, types] for one in measures]
        return cls(
            may=(np.bincount(of, minlength=N) > 0) & (np.arange(N) < kind.placed),
            easy=_summed(of, gives[0] * easy[rows], N),
            capacity=np.array([float(one.capacity[0]) for one in measures]),
            share=np.array([float(one.share[0]) for one in measures]),
            given=np.array([_summed(of, one, N) for one in gives]),
            lost=[[_Lost.at(of, N, loss, rows, one) for loss in losses if loss.survives[r]] for one in gives],
        )

    def lacks(self, chosen: Bools) -> tuple[float, Floats]:
        """Return the RRU that the reservation lacks after its worst loss if it may use the domains `chosen` (N,), and
        the (N,) if it may use each other one too.

        A resource that lacks counts by its share of what is asked for.
        """
        found, each = 0.0, np.zeros(len(chosen))
        for capacity, share, given, losses in zip(self.capacity, self.share, self.given, self.lost, strict=True):
            lost = [one.most(chosen) for one in losses] or [(0.0, np.zeros(len(chosen)))]
            lack = capacity - given[chosen].sum()
            found = max(found, float(share * (lack + max(worst for worst, _ in lost))))
            more = lack - np.where(chosen, 0.0, given) + np.max([worst for _, worst in lost], axis=0)
            each = np.maximum(each, share * more)
        return found, each

    def extended(self, chosen: Bools, most: int) -> Bools:
        """Return the domains `chosen` (N,) and further ones, `most` in all. Each next one leaves the least lack, and
        then has the most RRU that need no move.
        """
        chosen = chosen.copy()
        for _ in range(most - int(chosen.sum())):
            left = np.flatnonzero(self.may & ~chosen)
            if not len(left):
                break
            each, easy = self.lacks(chosen)[1][left], self.easy[left]
            order = np.lexsort((left, -easy, -np.minimum(easy, self.capacity[0]), each.round(9)))
            chosen[left[order[0]]] = True
        return chosen

    def best(self, most: int) -> Bools:
        """Return `most` domains (N,), exchanged one by one for others while that leaves less lack."""
        chosen = self.extended(np.zeros(len(self.may), bool), most)
        lack = self.lacks(chosen)[0]
        while lack > ROUNDING:
            least, swap = lack * (1 - ROUNDING), None
            for old in np.flatnonzero(chosen).tolist():
                without = chosen.copy()
                without[old] = False
                each = np.where(self.may & ~chosen, self.lacks(without)[1], np.inf)
                new = int(each.argmin())
                if each[new] < least:
                    least, swap = float(each[new]), (old, new)
            if swap is None:
                break
            chosen[swap[0]], chosen[swap[1]], lack = False, True, least
        return chosen
