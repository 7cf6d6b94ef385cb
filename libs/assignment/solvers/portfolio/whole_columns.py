"""Search with columns of whole objects, where a relaxation says little.

Objects are scarce, and containers need few of them: then most of a plan's cost is in what no fraction pays. Containers
propose what they want in whole objects, each by a tree at prices of supply (whole_bound.py). A master mixes the
proposals, and gives the next prices, as in relaxation_by_columns.py. Each round gives a lower bound for whole objects.
At the end, branch and bound chooses one proposal for each container, so that supply is enough.

Sources: Dantzig and Wolfe 1960; Barnhart, Johnson, Nemhauser, Savelsbergh and Vance 1998 (branch and price).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.alone import Alone, Wanted
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.proposals import Proposals
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.relaxation_by_columns import EARLY, REACH, SHRINK
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.whole_bound import Wishes
from libs.mip.bound import reduced_costs
from libs.mip.highs import Limits
from libs.mip.model import Model

COUNTS_MAX = 60_000
"""Most counts of a problem that is searched with columns: each round takes a tree for each container."""
ROUNDS, PATIENCE = 40, 3
"""Most rounds of proposals, and most in a row, after swings, that find no better prices."""
NEAR = 3e-3
"""Distance of a mix from the bound, as a share of it, at which rounds end. Choices after more rounds are no better, and
bounds hardly.
"""
CLOSE = 0.05
"""Distance from which trees that leave much open go on in a round: before, prices change too much."""
GROW = 1.5
"""Factor on the distance of prices off supply after a round that raised the bound, but for the first one."""
SWINGS = 4
"""Rounds after the first one in which prices swing, and bound nothing. So not all containers propose."""
FEW, FEW_SHARE = 200, 0.75
"""Containers that propose in such a round: at least so many, or a share of all. Those with many objects do not: their
trees take most of the time, and fractions say most of them.
"""
MORE, MORE_LAST = 10_000, 100_000
"""Nodes for trees that leave most open, after a round that seems to have the best prices, and at the end."""
NODES = 2_000
"""Most nodes of the branch and bound that chooses proposals."""
CHOICE_GAP = 1e-4
"""Gap at which it ends, as a share of the bound. In its objective the first goal outweighs all else, so that a share of
the cost would be too much.
"""
CHOICE_SHARE = 0.2
"""Share of the time that is kept for the choice of proposals."""


class WholeColumns(NamedTuple):
    """The result of a search with columns.

    counts      (Q,) the counts of the best choice; None if there is none
    relaxation  with the best prices of supply, and the lower bound for whole objects
    timed_out   whether the clock or the caller ended the search
    """

    counts: Ints | None
    relaxation: Relaxation
    timed_out: bool


def is_for_columns(lowered: Lowered, model: Model, shares: Shares) -> bool:
    """Return whether `model` can be searched with columns: it has a sink, and only supply couples containers."""
    return len(lowered.kind) <= COUNTS_MAX and shares.separates(model) and shares.sink >= 0


def search_whole_columns(
    lowered: Lowered,
    model: Model,
    led: Model,
    shares: Shares,
    relaxation: Relaxation,
    counts: Ints,
    *,
    pool: Pool,
    time_s_max: float,
    cancelled: Callable[[], bool] | None = None,
) -> WholeColumns:
    """Search from the prices of `relaxation` and the plan `counts` (Q,).

    model  the model of the relaxation, in which only supply couples containers. There must be a sink
    led    the model with the objective of the choice between proposals
    """
    began = time.perf_counter()
    until = began + (1.0 - CHOICE_SHARE) * time_s_max
    rounds = _Rounds(lowered, model, shares, relaxation, counts, pool=pool, until=until, cancelled=cancelled)
    rounds.run()
    limits = Limits(
        time_s_max=began + time_s_max - time.perf_counter(),
        nodes_max=NODES,
        relative_gap=0.0,
        absolute_gap=CHOICE_GAP * max(1.0, abs(rounds.best.bound)),
    )
    chosen, late = rounds.proposals.whole(led, limits, cancelled)
    return WholeColumns(
        counts=None if chosen is None else np.rint(chosen[: len(lowered.kind)]).astype(np.int64),
        relaxation=rounds.best,
        timed_out=rounds.timed_out or late,
    )


class _Rounds:
    """Rounds of proposals, and what they have found. Arguments as in `search_whole_columns`.

    best       the relaxation at the best prices so far, with the best bound
    likely     the bound that these prices would give if no tree left anything open
    wishes     what containers want at these prices; None if their trees have gone on already
    timed_out  whether the clock or the caller ended a round
    """

    def __init__(
        self,
        lowered: Lowered,
        model: Model,
        shares: Shares,
        relaxation: Relaxation,
        counts: Ints,
        *,
        pool: Pool,
        until: float,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.lowered, self.model, self.shares, self.pool = lowered, model, shares, pool
        self.until, self.cancelled = until, cancelled
        self.best, self.likely = relaxation, relaxation.bound
        self.wishes: Wishes | None = None
        self.timed_out, self._vain = False, 0
        known = lowered.point_of(counts)
        self._alone = Alone(lowered, model, shares, known, pool)
        self.proposals = Proposals(lowered, model, shares, known)
        self.proposals.add(lowered.point_of(np.where(lowered.container == shares.sink, counts, 0)), self._supply())
        self._reach = REACH * max(1.0, abs(model.objective(known))) / lowered.classes.size.sum()

    def run(self) -> None:
        """Make rounds until a mix is near the bound."""
        at: Floats | None = self._rows()
        for number in range(ROUNDS):
            if number:
                at = self._next_prices()
            if at is None:
                break
            self._propose(at, number)
            if self.timed_out:
                break
            if self._vain >= PATIENCE:  # the best prices may only have seemed so
                if self.wishes is None:
                    break
                self._close()
        self._close()

    def _next_prices(self) -> Floats | None:
        """Return row prices (N,) between the best ones and those of the next mix; None to make no more rounds.

        A mix near the bound must be near it, too, when the trees have gone on.
        """
        price = self.proposals.mix(EARLY, self.until, near=(self._supply(), self._reach), cancelled=self.cancelled)
        if price is None:
            self.timed_out = True
            return None
        if self._is_near(self.likely, NEAR):
            self._close()
            if self._is_near(self.likely, NEAR):
                return None
        at = self._rows().copy()
        at[: len(price)] = (self._supply() + price) / 2
        return at

    def _propose(self, at: Floats, number: int) -> None:
        """Let containers propose what they want at the row prices `at` (N,), and keep these if they are the best."""
        lowered, supply = self.lowered, at[: len(self.lowered.classes.size)]
        wanted, x = self._alone.at(at, self.until, self.cancelled), self.proposals.cheapest(supply)
        wishes = Wishes(
            lowered,
            self.model,
            self.shares,
            wanted.rows,
            x,
            asked=_asked(lowered, x, all_=not 0 < number <= SWINGS),
            pool=self.pool,
            until=self.until,
            cancelled=self.cancelled,
            points=True,
        )
        if wishes.estimate > self.likely and self._is_near(wishes.estimate, CLOSE):  # a missed point makes it too high
            wishes.go_on(MORE, self.until)
        self.proposals.add(lowered.point_of(wishes.counts), supply)
        bound = max(self.best.bound, wishes.whole.bound)
        self.timed_out = wanted.timed_out or wishes.whole.timed_out
        if wishes.estimate > self.likely and not self.timed_out:  # trees that have not begun make it too high, too
            self.best = _at(self.best, self.model, wanted, bound, len(supply))
            self.likely, self.wishes, self._vain = wishes.estimate, wishes, 0
            self._reach *= GROW if number else 1.0
        else:
            self.best = replace(self.best, bound=bound)
            self._reach *= SHRINK
            self._vain += number > SWINGS

    def _close(self) -> None:
        """Let the trees at the best prices go on, unless they have done so already."""
        if self.wishes is None:
            return
        self.wishes.go_on(MORE_LAST, self.until)
        self.proposals.add(self.lowered.point_of(self.wishes.counts), self._supply())
        self.best = replace(self.best, bound=max(self.best.bound, self.wishes.whole.bound))
        self.timed_out |= self.wishes.whole.timed_out
        self.likely, self.wishes, self._vain = self.wishes.estimate, None, 0

    def _is_near(self, bound: float, share: float) -> bool:
        """Return whether the cost of the last mix is within this share of a bound."""
        return self.proposals.cost - bound <= share * max(1.0, abs(bound))

    def _rows(self) -> Floats:
        assert self.best.rows is not None
        return self.best.rows

    def _supply(self) -> Floats:
        return self._rows()[: len(self.lowered.classes.size)]


def _asked(lowered: Lowered, x: Floats, *, all_: bool) -> Bools:
    """Return the containers (K,) that propose: all, or those with fewest objects at the point `x` (C,).

    Trees of these take least time.
    """
    counts, containers = x[: len(lowered.kind)], len(lowered.problem.containers)
    taken = np.bincount(lowered.container, np.rint(counts), containers)
    few = containers if all_ else max(FEW, round(FEW_SHARE * containers))
    asked = np.zeros(containers, np.bool_)
    asked[np.argsort(taken, kind="stable")[:few]] = True
    return asked


def _at(relaxation: Relaxation, model: Model, wanted: Wanted, bound: float, classes: int) -> Relaxation:
    """Return `relaxation` at other prices: those at which containers want `wanted`, with the bound that they give."""
    return replace(
        relaxation,
        fractional=None,
        price=wanted.rows[:classes],
        reduced=reduced_costs(model, wanted.rows)[: len(relaxation.reduced)],
        point=None,
        bound=bound,
        rows=wanted.rows,
        raw=wanted.x,
    )
