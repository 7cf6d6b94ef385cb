"""Run the phases of a portfolio on one objective.

The phases are a rounded start, then steps on counts, and neighbourhoods. For a small problem, branch and bound replaces
the steps and neighbourhoods. A count is the number of objects of one class in one container.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.beside import Beside
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.neighbourhoods import Search, default_stall
from libs.assignment.solvers.portfolio.relaxation import Relaxation, quiet_columns, without_quiet
from libs.assignment.solvers.portfolio.relaxing import NOTHING, Ahead, Relaxing, begun_ahead
from libs.assignment.solvers.portfolio.repair import is_broken, restored
from libs.assignment.solvers.portfolio.rounding import round_counts
from libs.assignment.solvers.portfolio.rounding_cost import Excess
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.unpaid import paying, penalties
from libs.assignment.solvers.portfolio.watch import Watch
from libs.assignment.solvers.portfolio.whole_bound import Whole, whole_bound, whole_least
from libs.assignment.solvers.portfolio.whole_tree import search_tree
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.bound import bound_from_prices
from libs.mip.model import Model

if TYPE_CHECKING:
    from libs.assignment.solvers.portfolio.steps.descent import Walk

LEAST_GAIN = 1e-9
MEND_GAIN, MEND_TRIES = 1e-6, 30
"""Least saving of a step that mends, as a share of the cost at hand, and changes to evaluate per count."""
POLISH_TRIES = 15
"""Changes to evaluate per count in the steps after mending, which save any cost."""
WORTH = 1e-3
"""Least saving of many steps after rounding together, as a share of the cost. Neighbourhoods save more in that time."""
TIE = 0.5
"""Least saving of a step that breaks ties, as a share of the least cost that only breaks ties."""
WHOLE_SHARE, BESIDE_SHARE = 0.25, 0.9
"""Share of the time left for a bound of whole objects: alone, and beside neighbourhoods."""
LARGE = 0.1
"""Share of the excess of all containers. One that has more, and pays a penalty, is bounded in whole objects before the
neighbourhoods.
"""
WIDE_TRIES = 40
"""Wide neighbourhoods of a leading goal. Small ones come first and save most, so long waits for a gain are normal."""
Proof = Callable[[Ints, Callable[[], Ints], float], bool]
"""Raises bounds with counts known early, and returns whether the counts after the steps, for which it may wait, are
optimal within a gap.
"""


class Phases:
    """The phases on one objective of a lowered problem.

    The model has the columns of `lowered.model`. Its first rows are those of `lowered.model`.

    stated        the model with the objective of the answer
    model         the model with the objective of the search: that of `stated` without the costs that only break ties.
                  For branch and bound on the whole, it is the objective of `stated`
    tried         number of neighbourhoods solved
    improved      number of neighbourhoods that gained
    proven        whether the answer is optimal within the gap that is good enough
    tree_bound    the lower bound from branch and bound on the whole problem; -inf without branch and bound
    not_followed  names of the specs whose columns steps cannot follow. If there are any, no steps were made

    pool   solves parts of a relaxation and neighbourhoods
    quiet  (C,) the columns whose costs only break ties, if the model joins several levels; None: found from the model
    leads  whether the objective comes before another one, as promises come before costs. It is then worth more time
    """

    def __init__(
        self,
        lowered: Lowered,
        model: Model,
        limits: PortfolioLimits,
        seed: int,
        watch: Watch,
        pool: Pool,
        quiet: Bools | None = None,
        *,
        leads: bool = False,
    ) -> None:
        self.pool, self.leads = pool, leads
        self.lowered, self.limits, self.seed, self.watch = lowered, limits, seed, watch
        self.shares = shares_of(lowered, model.cost)
        self.stated = model
        self._quiet = quiet_columns(model.cost) if quiet is None else quiet
        self.model = self._loud(model)
        self.tried = self.improved = 0
        self.proven = False
        self.tree_bound = -np.inf
        self.not_followed: tuple[str, ...] = ()
        self._told = np.inf
        self._walk: Walk | None = None
        self._change_s = 0.0  # seconds to evaluate one change, 0: not known

    def count_from(self, cost: float, point: Floats) -> None:
        """Shift the objective by a constant so that `point` (C,) has the cost `cost`.

        Least gains are relative to the cost, so they are then relative to a known value.
        """
        by = cost - self.stated.objective(point)
        self.model = replace(self.model, offset=self.model.offset + by)
        self.stated = replace(self.stated, offset=self.stated.offset + by)
        self._told += by

    @property
    def is_small(self) -> bool:
        """Return whether the problem has so few counts that branch and bound solves it as a whole."""
        return bool((self.lowered.container != self.shares.sink).sum() <= self.limits.exact_columns_max)

    def mended(self, counts: Ints) -> Ints:
        """Return `counts` (Q,) after the steps that save most, for a small and fixed amount of work.

        What is broken or missing costs most, so steps mend that first, and save smaller costs after that. The later
        phases take long, and begin at the result. So a clock that ends them early costs quality, and not promises.
        """
        if self.is_small:
            return counts
        all_, penalty = self.model, penalties(self.model)
        dear = replace(all_, cost=np.where(penalty, all_.cost, 0.0)) if penalty.any() else all_
        walk, began, found = self._walking(all_), time.perf_counter(), counts
        for paid, gain, tries in ((dear, MEND_GAIN, MEND_TRIES), (all_, LEAST_GAIN, POLISH_TRIES)):
            least = gain * max(1.0, abs(self.cost(found)))
            guide = Excess(self.lowered, paid, self.shares, Relaxation.unknown(self.lowered))
            found = self.better(walk.down(found, least, guide, self.watch.stop, tries * len(counts)), found)
            self._tell(self.lowered.point_of(found))
        self._change_s = (time.perf_counter() - began) / max(walk.tried, 1)
        return found

    def relax(self, model: Model, begin: Ints, *, cancelled: Callable[[], bool] | None = None) -> Relaxation:
        """Return the relaxation of `model`, which has the same columns and rows as `self.model`.

        The time left decides between several ones, with the counts `begin` (Q,): see relaxing.py.
        """
        return self._relaxed(self._loud(model), begin, cancelled)

    def mended_and_relaxed(
        self, model: Model, mend: Callable[[], Ints], *, cancelled: Callable[[], bool] | None = None
    ) -> tuple[Ints, Relaxation]:
        """Return the counts (Q,) from `mend`, which calls `mended`, and the relaxation of `model` from there.

        A relaxation begins beside `mend`, which has one processor.
        """
        if self.is_small:
            return (counts := mend()), self.relax(model, counts, cancelled=cancelled)
        model = self._loud(model)
        with begun_ahead(self.lowered, model, self.shares, self.watch, self.pool, cancelled) as ahead:
            counts = mend()
            return counts, self._relaxed(model, counts, cancelled, ahead)

    def _relaxed(
        self,
        model: Model,
        begin: Ints,
        cancelled: Callable[[], bool] | None,
        ahead: Ahead = NOTHING,
    ) -> Relaxation:
        relaxing = Relaxing(
            lowered=self.lowered,
            model=model,
            shares=self.shares,
            begin=begin,
            change_s=self._change_s,
            watch=self.watch,
            pool=self.pool,
            cancelled=cancelled,
            ahead=ahead,
        )
        return relaxing.whole() if self.is_small else relaxing.run()

    def _tell(self, point: Floats) -> None:
        """Tell the watch a point (C,), unless a cheaper one was told before."""
        cost = self.model.objective(point)
        if cost <= self._told:
            self._told = cost
            self.watch.found(point, -np.inf)

    def cost(self, counts: Ints) -> float:
        """Return the cost of the cheapest point with the counts `counts` (Q,)."""
        return self.model.objective(self.lowered.point_of(counts))

    def start(self, relaxation: Relaxation, known: Ints, mended: Ints) -> Ints:
        """Return the rounded relaxation if it is cheaper than the counts `known`, (Q,). Else return `mended` (Q,).

        Before steps the rounded relaxation often costs more than `mended`, and after them less.
        """
        if relaxation.fractional is None:
            return mended
        left_s = self.watch.time_left()
        counts = round_counts(self.lowered, relaxation.fractional, self.shares.sink, time_s_max=left_s)
        if counts is None:
            self.watch.note(timed_out=True)
            return mended
        found = self.better(self._restored(counts, known), known)
        return mended if found is known else found

    def better(self, found: Ints, known: Ints) -> Ints:
        """Return the counts `found` (Q,) if they break no row and cost less than `known` (Q,). Else return `known`."""
        point = self.lowered.point_of(found)
        before = self.cost(known)
        gains = self.model.objective(point) < before - LEAST_GAIN * max(1.0, abs(before))
        return found if gains and not is_broken(self.model, point) else known

    def _restored(self, counts: Ints, known: Ints) -> Ints:
        return restored(self.lowered, self.model, self.shares, counts, known)

    def improve(self, relaxation: Relaxation, counts: Ints, bound: float, proves: Proof | None = None) -> Ints:
        """Improve `counts` (Q,) until the limits or the watch end the search, or the cost reaches `bound`.

        At the end, break ties between answers of equal cost.

        proves  asked beside the last steps and the neighbourhoods, which take most of the time: whether the counts
                between them are optimal. Then these are the answer
        """
        return self._without_ties(self._improved(relaxation, counts, bound, proves))

    def settled(self, counts: Ints) -> Ints:
        """Return `counts` (Q,) after branch and bound on the whole problem from there, with ties broken."""
        return self._without_ties(self._whole(counts))

    def whole_bound(self, model: Model, price: Floats, counts: Ints, share: float = WHOLE_SHARE) -> Whole:
        """Return a lower bound of the cost of whole objects in `model`, from the row prices `price` (N,).

        `counts` (Q,) are the best ones known. `share` is the most of the time left that it may take. If the limits
        want no trees, it is the bound of fractions.
        """
        if not self.limits.whole_bound:
            return Whole(bound_from_prices(model, price), np.zeros(len(self.lowered.problem.containers)))
        until = time.perf_counter() + share * self.watch.time_left()
        point, stop = self.lowered.point_of(counts), self.watch.stop
        found = whole_bound(self.lowered, model, self.shares, price, point, pool=self.pool, until=until, cancelled=stop)
        self.watch.note(timed_out=found.timed_out)
        return found

    def _improved(self, relaxation: Relaxation, counts: Ints, bound: float, proves: Proof | None) -> Ints:
        cost = self.cost(counts)
        self._tell(self.lowered.point_of(counts))
        if cost <= bound + self.limits.exact_gap * max(1.0, abs(bound)):
            self.proven = True
            return counts
        if self.watch.stop():
            return counts
        if self.is_small:
            return self._whole(counts)
        walk = self._walking(self.model)
        self.not_followed = walk.not_followed
        early, late = Future[Ints](), Future[Ints]()
        gap = max(self.limits.exact_gap, self.limits.near_gap if relaxation.is_near else 0.0)
        waits = gap > self.limits.exact_gap
        if waits:
            early.set_result(counts)

        def proven(_: object) -> bool:
            near = early.result()
            return proves is not None and not self.watch.stop() and proves(near, late.result, gap)

        with Beside(proven) as proving, ExitStack() as at_error:
            for waited in (early, late):
                at_error.callback(waited.cancel)
            counts = self._down(walk, relaxation, counts, early=None if waits else early.set_result)
            if not early.done():
                early.set_result(counts)
            late.set_result(counts)
            self._tell(self.lowered.point_of(counts))
            if not (waits and proving.result()):
                search = self._searched(relaxation, counts, bound, lambda: proving.is_over and proving.result())
            self.proven = proving.result()
        if self.proven:  # what neighbourhoods gained until then depends on the machine, and is within the gap
            return counts
        self.tried, self.improved = search.solved, search.improved
        self.watch.note(timed_out=search.timed_out)
        # a solver's tolerance lets some violations pass
        found = self.better(self._restored(search.counts, counts), counts)
        return found if found is counts else self._down(walk, relaxation, found, since=counts)

    def _searched(self, relaxation: Relaxation, counts: Ints, bound: float, proven: Callable[[], bool]) -> Search:
        """Return the search of neighbourhoods from `counts` (Q,), once it has ended: by itself, or as `proven` says."""
        search = Search(self.lowered, self.model, self.shares, relaxation, counts, np.random.default_rng(self.seed))
        self._raise_least(search)
        real = self.lowered.container != self.shares.sink
        containers, most = len(np.unique(self.lowered.container[real])), self.limits.neighbourhoods_max

        def run(count: int, stall: int) -> None:
            search.run(
                self.pool,
                count,
                stall,
                self.limits.stall_gain * self._size(relaxation, counts, bound),
                lambda: self.watch.stop() or proven(),
                self.watch.time_left,
                lambda _: self._tell(search.x),
            )

        stall = self.limits.stall or default_stall(containers, len(self.lowered.container))
        run(max(30, 2 * containers) if most is None else most, stall)
        if self.leads and most is None:
            search.widen()
            run(WIDE_TRIES, WIDE_TRIES)
        return search

    def _raise_least(self, search: Search) -> None:
        """Raise the least cost of the containers of LARGE excess that pay a penalty to that of whole objects.

        A penalty that no container of whole objects avoids would be the largest excess, and neighbourhoods would try
        it in vain.
        """
        relaxation, excess = search.relaxation, search.excess
        chosen = np.flatnonzero((excess > LARGE * excess.sum()) & paying(self.model, self.shares, search.x))
        if relaxation.rows is None or not len(chosen) or not self.shares.separates(self.model):
            return
        price = relaxation.rows.copy()
        price[: len(relaxation.price)] = relaxation.price
        least, timed_out = whole_least(
            self.lowered,
            self.model,
            self.shares,
            price,
            search.x,
            chosen,
            pool=self.pool,
            until=time.perf_counter() + WHOLE_SHARE * self.watch.time_left(),
            cancelled=self.watch.stop,
        )
        self.watch.note(timed_out=timed_out)
        search.raise_least(chosen, least)

    def _down(
        self,
        walk: Walk,
        relaxation: Relaxation,
        counts: Ints,
        since: Ints | None = None,
        early: Callable[[Ints], None] | None = None,
    ) -> Ints:
        """Return `counts` after steps on counts, until no step saves anything or the watch ends the search.

        since  counts (Q,) from which an earlier call found no step
        early  called with the counts near the end of long steps
        """
        excess = Excess(self.lowered, self.model, self.shares, relaxation)
        size = self._size(relaxation, counts, relaxation.bound)
        # rounded counts may pay large penalties at first: without a bound, the cheapest counts known tell the scale
        least, worth = LEAST_GAIN * size, WORTH * min(size, max(1.0, abs(self._told)))
        found = walk.down(counts, least, excess, self.watch.stop, worth=worth, since=since, early=early)
        return self.better(found, counts)

    def _without_ties(self, counts: Ints) -> Ints:
        """Return `counts` after single steps in the objective `stated`, which has the costs that break ties."""
        quiet = self.stated.cost[self._quiet]
        if self.is_small or not len(quiet) or self.watch.stop():
            return counts
        found = self._walking(self.stated).single(counts, TIE * np.abs(quiet).min(), self.watch.stop)
        return counts if is_broken(self.stated, self.lowered.point_of(found)) else found

    def _walking(self, model: Model) -> Walk:
        """Return the descent in `model`, which has the columns and rows of `self.model`."""
        from libs.assignment.solvers.portfolio.steps.descent import Walk  # here: a relaxation goes on while it loads

        if self._walk is None:
            self._walk = Walk(self.lowered, model, self.shares.sink)
        self._walk.follow(model.cost)
        return self._walk

    def _loud(self, model: Model) -> Model:
        return model if self.is_small or not self._quiet.any() else without_quiet(model, self._quiet)

    def _size(self, relaxation: Relaxation, counts: Ints, bound: float) -> float:
        """Return the scale of gains: `bound`, or without a positive bound the cost of the relaxation or of `counts`."""
        if not (np.isfinite(bound) and bound > 0):
            bound = self.cost(counts) if relaxation.point is None else self.model.objective(relaxation.point)
        return max(1.0, abs(bound))

    def _whole(self, counts: Ints) -> Ints:
        """Return `counts` (Q,) after branch and bound on the whole problem, and remember its bound."""
        found = search_tree(
            self.lowered,
            self.model,
            counts,
            self.limits,
            self.seed,
            self.watch,
            better=lambda whole, known: self.better(self._restored(whole, known), known),
        )
        self.tried, self.improved = self.tried + found.trees, self.improved or int(found.counts is not counts)
        self.proven, self.tree_bound = found.optimal, max(self.tree_bound, found.bound)
        return found.counts
