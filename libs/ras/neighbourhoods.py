"""Neighbourhoods: free a few reservations, solve their problem exactly, keep the others; worst first, several at once.

The order in which results are applied does not depend on how fast they come: neighbourhood k is formed from the state
after the first k - IN_FLIGHT results, over reservations and free servers that none of those under way has.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from libs.domain.fleet import Floats
from libs.mip.highs import Limits, solve_mip
from libs.ras.cost import cost_of
from libs.ras.model import build_model
from libs.ras.prices import Prices
from libs.ras.problem import CountProblem, Counts, Index

IN_FLIGHT = 4
"""Neighbourhoods under way at once, on however many processors: part of what makes an answer reproducible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How hard one neighbourhood is tried. All are counts of work, not times."""

    columns: int = 150
    reservations: int = 5
    nodes: int = 10
    gap_share: float = 0.1


@dataclass(slots=True, eq=False)
class _Neighbourhood:
    chosen: Index
    columns: Index
    problem: CountProblem
    before: float
    lent: Counts
    result: Future[tuple[Counts, float, bool]]


@dataclass(slots=True, eq=False)
class Search:
    """Whole counts under improvement. counts (N,), free (M*T,); excess (R,): what each costs above the relaxation."""

    problem: CountProblem
    prices: Prices
    counts: Counts
    effort: Effort
    rng: np.random.Generator
    free: Counts = field(init=False)
    excess: Floats = field(init=False)
    fatigue: Floats = field(init=False)
    busy: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(init=False)
    total: float = field(init=False)
    solved: int = 0
    improved: int = 0
    timed_out: bool = False

    def __post_init__(self) -> None:
        R = self.problem.reservations
        self.free = self.problem.supply - self.problem.used(self.counts)
        self.fatigue, self.busy = np.ones(R), np.zeros(R, bool)
        cost = cost_of(self.problem, self.counts)
        self.total = cost.total
        self.excess = self.prices.excess(cost.by_reservation, self.counts)

    def run(
        self,
        count: int,
        stall: int,
        stall_gain: float,
        stop: Callable[[], bool],
        time_left: Callable[[], float],
        improved: Callable[[float], None],
    ) -> None:
        """Try `count` neighbourhoods; fewer where `stop` says so, or the last `stall` gained less than `stall_gain`."""
        under_way: deque[_Neighbourhood] = deque()
        totals = deque([self.total], stall + 1)
        with ThreadPoolExecutor(min(IN_FLIGHT, os.cpu_count() or 1)) as pool:
            while True:
                while len(under_way) < IN_FLIGHT and count > 0 and not stop():
                    chosen = self._choose()
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

    def _choose(self) -> Index:
        """The worst reservation, and others that use what it could use, the worse the likelier."""
        score = np.where(self.busy, 0.0, self.excess * self.fatigue)
        if score.max(initial=0.0) <= 1e-6:
            return np.zeros(0, np.intp)
        worst = int(score.argmax())
        weight = self.prices.overlap(worst) * (score + 0.02 * score.max()) * ~self.busy
        weight[worst] = np.inf
        key = -np.log(self.rng.random(len(weight))) / np.maximum(
            weight, 1e-300
        )  # smallest first: sampling without replacement
        order = np.argsort(key)[: self.effort.reservations]
        order = order[weight[order] > 0]
        size = np.cumsum([self._columns_of(np.array([r])).size for r in order])
        return np.asarray(np.sort(order[: max(1, int(np.searchsorted(size, self.effort.columns, "right")))]), np.intp)

    def _columns_of(self, chosen: Index, budget: float = np.inf) -> Index:
        first = self.problem.first
        columns = np.concatenate([np.arange(first[r], first[r + 1]) for r in chosen])
        return np.asarray(columns[(self.counts[columns] > 0) | (self.prices.reduced[columns] <= budget)])

    def _submit(self, pool: ThreadPoolExecutor, chosen: Index, time_left: Callable[[], float]) -> _Neighbourhood:
        p = self.problem
        lent = (self.free + 1) // 2
        budget = float(self.excess[chosen].sum() + self.prices.supply @ lent)
        columns = self._columns_of(chosen, budget)
        own = np.bincount(p.place[columns], self.counts[columns], len(p.supply)).astype(np.int64)
        problem = p.select(chosen, columns, lent + own)
        start = self.counts[columns]
        before = cost_of(problem, start).total
        self.free -= lent
        self.busy[chosen] = True
        slack = max(self.effort.gap_share * float(self.excess[chosen].sum()), 1e-3)
        limits = Limits(nodes_max=self.effort.nodes, absolute_gap=slack, relative_gap=0.0, time_s_max=time_left())
        return _Neighbourhood(
            chosen,
            columns,
            problem,
            before,
            lent,
            pool.submit(_solve, problem, start, limits, int(self.rng.integers(2**31 - 1))),
        )

    def _apply(self, done: _Neighbourhood) -> bool:
        counts, after, timed_out = done.result.result()
        self.solved += 1
        self.timed_out |= timed_out
        better = after < done.before - 1e-6
        place = self.problem.place[done.columns]
        self.free += done.lent
        self.busy[done.chosen] = False
        gained = done.before - after
        if better:
            self.free -= np.bincount(place, counts - self.counts[done.columns], len(self.free)).astype(np.int64)
            self.counts[done.columns] = counts
            self.total -= gained
            self.improved += 1
            cost = cost_of(self.problem, self.counts)
            self.total = cost.total
            self.excess = self.prices.excess(cost.by_reservation, self.counts)
        tried = 0.5 if gained < 0.2 * self.excess[done.chosen].sum() else 0.8
        self.fatigue[done.chosen] *= tried
        return better


def _solve(problem: CountProblem, start: Counts, limits: Limits, seed: int) -> tuple[Counts, float, bool]:
    model = build_model(problem)
    found = solve_mip(
        model.model, limits, start=model.columns.point(problem, start), seed=seed, restarts=False, heuristics=0.2
    )
    if found.x is None:
        return start, np.inf, found.timed_out
    counts = model.counts(found.x)
    return counts, cost_of(problem, counts).total, found.timed_out
