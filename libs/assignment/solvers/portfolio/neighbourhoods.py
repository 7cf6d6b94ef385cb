"""Improve neighbourhoods: free the counts of a few containers, and solve these exactly while all other counts stay.

A count is the number of objects of one class in one container. The sink is the container of unplaced objects. The
excess of a container is its cost above its cost in the relaxation. Containers with the largest excess come first.

IN_FLIGHT neighbourhoods are solved at once. Their results are applied in the order of their start, so the answer does
not depend on their speed. Neighbourhood k is formed from the state after the first k - IN_FLIGHT results. It uses no
containers, and no objects of the sink, that an unfinished neighbourhood uses.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.repair import is_broken
from libs.assignment.solvers.portfolio.rounding_cost import Excess
from libs.assignment.solvers.portfolio.submodel import restrict
from libs.assignment.solvers.portfolio.subproblem import Answer, CountSearch, Pool, Subproblem
from libs.assignment.solvers.portfolio.unplaced_loan import sink_columns, with_lent
from libs.mip.model import Model

IN_FLIGHT = 4
"""Neighbourhoods solved at once, on any number of processors: a fixed number keeps answers reproducible."""
COULD = 0.1
"""Weight of a partner container that could use a class, relative to a partner that uses the class already."""
TIRED = 0.3
"""Fatigue below which a container gets more partners.

The fatigue of a container starts at 1 and falls with each neighbourhood of the container, faster after a small gain.
"""
LEAST_GAIN = 1e-9
"""Least gain relative to the objective; a smaller one is rounding."""


STALL, STALL_SHARE = 8, 25
"""Neighbourhoods without a gain after which a search ends: the least number, and the containers for each of them."""
FEW_COUNTS, STALL_OF_FEW = 5_000, 30
"""The same for a problem of at most so many counts. There each takes little time, and later ones often gain much."""


def default_stall(containers: int, counts: int) -> int:
    """Return after how many neighbourhoods without a gain the search of a problem ends, unless its limits say."""
    return max(STALL_OF_FEW if counts <= FEW_COUNTS else STALL, containers // STALL_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The limits on the work of one neighbourhood. They are numbers and no times, so that answers are reproducible.

    columns     most counts that are free, unless the neighbourhood uses more already
    containers  most containers
    nodes       most nodes of branch and bound
    gap_share   gap at which branch and bound stops, as a share of the excess of the containers times their fatigue: a
                container that gained little before is solved more exactly
    """

    columns: int = 150
    containers: int = 5
    nodes: int = 10
    gap_share: float = 0.3


WIDE = Effort(columns=250, containers=7, nodes=20, gap_share=0.1)
"""The limits on the work of a wide neighbourhood. It takes several times as long, and finds what small ones miss where
almost no object is free.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Neighbourhood:
    chosen: Ints
    counts: Ints
    columns: Ints
    lent: Ints
    result: Future[Answer]


class Search:
    """A point of the model with whole counts, which neighbourhoods improve one after the other.

    x         (C,)  the value of each column
    activity  (N,)  the value of each row at `x`
    total     the cost of `x`
    free      (K,)  objects of each class in the sink that no unfinished neighbourhood has borrowed
    excess    (containers,)  cost of each container above its cost in the relaxation: see rounding_cost.py
    fatigue   (containers,)  factor on the excess when containers are chosen; see TIRED
    busy      (containers,)  whether an unfinished neighbourhood uses the container
    solved, improved  number of neighbourhoods solved, and number of those that gained
    """

    def __init__(
        self,
        lowered: Lowered,
        model: Model,
        shares: Shares,
        relaxation: Relaxation,
        counts: Ints,
        rng: np.random.Generator,
        effort: Effort | None = None,
    ) -> None:
        self.lowered, self.model, self.shares, self.rng = lowered, model, shares, rng
        self.effort = effort or Effort()
        self.relaxation = relaxation
        self.separable = shares.separates(model)
        self.width, self.classes = len(lowered.kind), len(lowered.classes.size)
        containers = len(lowered.problem.containers)
        self.fatigue, self.busy = np.ones(containers), np.zeros(containers, dtype=np.bool_)
        self.total = 0.0
        self.solved = self.improved = 0
        self.timed_out = False
        self._sink_of = sink_columns(lowered, shares.sink)
        self._of_container = np.argsort(lowered.container, kind="stable")
        self._first = np.searchsorted(lowered.container[self._of_container], np.arange(containers + 1))
        self._excess = Excess(lowered, model, shares, relaxation)
        self._take(lowered.point_of(counts))
        self.free: Ints = np.where(self._sink_of >= 0, np.rint(self.x[self._sink_of]), 0).astype(np.int64)

    @property
    def counts(self) -> Ints:
        """Return the counts of the point, rounded to whole numbers, (Q,)."""
        return np.asarray(np.rint(self.x[: self.width]), dtype=np.int64)

    def widen(self) -> None:
        """Let the neighbourhoods from now on be wide, and no container be tired."""
        self.effort = WIDE
        self.fatigue[:] = 1.0

    def raise_least(self, containers: Ints, least: Floats) -> None:
        """Let the containers cost at least `least` each, net of prices, so that their excess is what could be saved."""
        self._excess.least[containers] = np.maximum(self._excess.least[containers], least)
        self.excess = self._excess.at(self.x)

    def run(
        self,
        pool: Pool,
        count: int,
        stall: int,
        stall_gain: float,
        stop: Callable[[], bool],
        time_left: Callable[[], float],
        improved: Callable[[float], None],
    ) -> None:
        """Try at most `count` neighbourhoods.

        End earlier if `stop` returns True. End also if the last `stall` neighbourhoods together saved less cost than
        `stall_gain`, or if no container is expected to save its share of that.

        pool       solves the neighbourhoods
        time_left  returns the seconds left for the solve of a neighbourhood
        improved   called with the new total cost after each neighbourhood that gains
        """
        under_way: deque[_Neighbourhood] = deque()
        totals = deque([self.total], stall + 1)
        while True:
            while len(under_way) < IN_FLIGHT and count > 0 and not stop():
                chosen = self._choose(stall_gain / stall)
                if not len(chosen):
                    break
                count -= 1
                under_way.append(self._submit(pool, chosen, time_left))
            if not under_way:
                return
            if self._apply(under_way.popleft()):
                improved(self.total)
            totals.append(self.total)
            if len(totals) > stall and totals[0] - totals[-1] < stall_gain:
                count = 0

    def _choose(self, least: float) -> Ints:
        """Choose the container with the largest excess, and random partners that use classes that it could use.

        A partner with a larger excess has a higher probability. No container of an unfinished neighbourhood is chosen.
        Choose nothing if the excess of each container, times its fatigue, is at most `least`.
        """
        score = np.where(self.busy, 0.0, self.excess * self.fatigue)
        if score.max(initial=0.0) <= max(least, LEAST_GAIN * max(1.0, abs(self.total))):
            return np.zeros(0, np.int64)
        worst = int(score.argmax())
        tired = bool(self.fatigue[worst] < TIRED)
        weight = self._overlap(worst, tired=tired) * (score + 0.02 * score.max()) * ~self.busy
        weight[worst] = np.inf
        # the smallest keys are a sample without replacement
        key = -np.log(self.rng.random(len(weight))) / np.maximum(weight, 1e-300)
        order = np.argsort(key)[: self.effort.containers]
        order = order[weight[order] > 0]
        counted = self.x[: self.width] > 0.5 if tired else np.ones(self.width)
        size = np.cumsum(np.bincount(self.lowered.container, counted, len(weight))[order])
        return np.sort(order[: max(1 + tired, int(np.searchsorted(size, self.effort.columns, "right")))])

    def _overlap(self, worst: int, *, tired: bool) -> Floats:
        """Return for each container the worth of the classes that both it and the container `worst` could use.

        tired  whether a class counts less if the other container could use the class, but does not use it now
        """
        kind, size = self.lowered.kind, self.lowered.classes.size
        mine = np.zeros(self.classes)
        used = kind[self._columns_of(worst)]
        worth = np.abs(self.relaxation.price)
        mine[used] = (0.01 * worth.mean() + worth[used] + 1e-9) * size[used]
        near = self.relaxation.reduced <= self.excess[worst]
        has = np.where(tired & (self.x[: self.width] < 0.5), COULD, 1.0)
        weight = np.bincount(self.lowered.container, mine[kind] * near * has, len(self.excess))
        if self.shares.sink >= 0:
            weight[self.shares.sink] = 0.0
        return np.asarray(weight, dtype=np.float64)

    def _columns_of(self, container: int) -> Ints:
        return self._of_container[self._first[container] : self._first[container + 1]]

    def _counts_of(self, chosen: Ints, budget: float) -> Ints:
        """Return the counts that a better plan for the containers `chosen` could use.

        These are the counts above 0, and the counts with a reduced cost of at most `budget`. If there are too many,
        return the counts above 0, and of all other counts those with the least reduced costs.
        """
        columns = np.concatenate([self._columns_of(int(k)) for k in chosen])
        reduced = np.where(self.x[columns] > 0.5, -np.inf, self.relaxation.reduced[columns])
        order = np.argsort(reduced, kind="stable")
        used, open_ = int((reduced == -np.inf).sum()), int((reduced <= budget).sum())
        return columns[order[: min(open_, max(self.effort.columns, used + used // 2))]]

    def _submit(self, pool: Pool, chosen: Ints, time_left: Callable[[], float]) -> _Neighbourhood:
        lent = (self.free + 1) // 2
        budget = float(self.excess[chosen].sum() + self._idle_worth(lent))
        counts = self._counts_of(chosen, budget)
        others = self.shares.of(chosen)
        others[: self.width] = False
        columns = np.concatenate([np.sort(counts), np.flatnonzero(others)])
        sub = restrict(self.model, columns, self.x, self.activity)
        sub = with_lent(self.lowered, self.model, sub, self._sink_of, lent)
        self.free -= lent
        self.busy[chosen] = True
        hoped = float((self.excess * self.fatigue)[chosen].sum())
        slack = max(self.effort.gap_share * hoped, LEAST_GAIN * max(1.0, abs(self.total)))
        search = CountSearch(
            start=self.x[columns],
            counts=len(counts),
            loose=np.flatnonzero(sub.rows >= self.classes),
            nodes_max=self.effort.nodes,
            absolute_gap=slack,
            seed=int(self.rng.integers(2**31 - 1)),
        )
        result = pool.submit(Subproblem(model=sub.model, until=time.perf_counter() + time_left(), search=search))
        return _Neighbourhood(chosen=chosen, counts=columns[: len(counts)], columns=columns, lent=lent, result=result)

    def _idle_worth(self, lent: Ints) -> float:
        """Return the most that the objects `lent` (K,) from the sink can save, by the prices of the relaxation."""
        return float(np.maximum(-self.relaxation.price, 0.0) @ lent)

    def _apply(self, done: _Neighbourhood) -> bool:
        found = done.result.result()
        self.solved += 1
        self.timed_out |= found.timed_out
        self.free += done.lent
        self.busy[done.chosen] = False
        gained, before = 0.0, float(self.excess[done.chosen].sum())
        if found.x is not None:
            gained = self._move_to(done, found.x)
        self.improved += gained > 0
        self.fatigue[done.chosen] *= 0.5 if gained < 0.2 * before else 0.8
        return gained > 0

    def _move_to(self, done: _Neighbourhood, x: Floats) -> float:
        """Apply the answer `x` of the neighbourhood `done`, and return the cost that this saves.

        Return 0 and change nothing if `x` saves nothing any more, after the neighbourhoods applied since its start.
        """
        kind = self.lowered.kind[done.counts]
        after, total = self.x.copy(), self.total
        after[done.columns] = x
        moved = np.bincount(kind, x[: len(done.counts)] - self.x[done.counts], self.classes)
        known = self._sink_of >= 0
        after[self._sink_of[known]] -= moved[known]
        if not self.separable:
            after = self.lowered.point_of(np.rint(after[: self.width]).astype(np.int64))
            if is_broken(self.model, after):
                return 0.0
        if self.model.objective(after) > total - LEAST_GAIN * max(1.0, abs(total)):
            return 0.0
        self.free[known] -= np.rint(moved[known]).astype(np.int64)
        self._take(after)
        return total - self.total

    def _take(self, x: Floats) -> None:
        self.x = x
        self.activity = self.model.matrix @ x
        self.total = self.model.objective(x)
        self.excess = self._excess.at(x)
