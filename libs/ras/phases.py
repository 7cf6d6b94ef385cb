"""The phases of a solve: relaxation, rounding, repair, neighbourhoods, extraction. See docs/designs/0002."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.mip.bound import bound_from_prices
from libs.mip.highs import Limits, Solution, solve_lp, solve_mip
from libs.mip.model import Model
from libs.ras.cost import cost_of
from libs.ras.descent import Descent
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.extraction import extract_targets
from libs.ras.goal import FIX_FIRST, goal_of
from libs.ras.leaving import give_up_leaving
from libs.ras.limits import SolveLimits
from libs.ras.model import CountModel, build_model
from libs.ras.neighbourhoods import Effort, Search
from libs.ras.prices import Prices, read_prices
from libs.ras.problem import CountProblem, Counts, group_servers
from libs.ras.restore import without_regression
from libs.ras.result import ModelSize, SolveReport, SolveResult
from libs.ras.rounding import round_counts
from libs.ras.trim import without_needless

DEFAULTS = SolveLimits()
RELAXATION_SHARE = 0.7
"""Of the time: a relaxation that takes longer is cut short, and the search goes without its prices."""
Progress = Callable[[str, float, float, float], None]
"""Phase, incumbent (total without rack), bound, gap; inf and nan where there is none yet."""


def plan_target_bindings(
    snapshot: FleetSnapshot,
    limits: SolveLimits = DEFAULTS,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> SolveResult:
    """Where every server should be bound: expressions 1 and 3 to 7 minimised, racks spread where that is free.

    Never worse than keeping the present targets. Raises nothing for a request that cannot be met: that is shortfall in
    the report. Source: RAS, section 3.5; departures in docs/adr/0003 to 0005.
    """
    return _Solve(snapshot, limits, seed, progress, cancelled).run()


class _Solve:
    """One solve under way: its clock, its bound and its best counts so far."""

    def __init__(
        self,
        snapshot: FleetSnapshot,
        limits: SolveLimits,
        seed: int,
        progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.snapshot, self.limits, self.seed = snapshot, limits, seed
        self.progress, self.cancelled = progress, cancelled
        self.started = time.perf_counter()
        self.step_s: dict[str, float] = {}
        self.bound, self.tree_bound, self.least_penalty = 0.0, 0.0, 0.0
        self.stopped_by = "finished"
        self.proven = False
        self.tried = self.improved = 0

    def run(self) -> SolveResult:
        with self._step("build"):
            problem = group_servers(self.snapshot)
            model = build_model(problem)
        with ThreadPoolExecutor(1) as aside:  # the penalty's own bound is worked out beside the search
            with self._step("relaxation"):
                limits = Limits(time_s_max=RELAXATION_SHARE * self._time_left())
                relaxed = solve_lp(model.model, "ipm", limits, cancelled=self.cancelled)
                self._note(relaxed.timed_out)
                self.bound = max(0.0, relaxed.bound)
            penalty = aside.submit(_least_penalty, model, relaxed, self._time_left(), self.cancelled)
            goal = goal_of(problem)
            with self._step("rounding"):
                counts = self._start(goal, relaxed)
            with self._step("search"):
                found = self._search(goal, read_prices(goal, model, relaxed), counts)
                counts = _cheaper(goal, without_regression(goal, found), counts)  # the solver's tolerance lets some by
            with self._step("least_penalty"):
                self.least_penalty = penalty.result()
        with self._step("extraction"):
            counts = without_needless(problem, counts)
            target = extract_targets(self.snapshot, problem, counts)
        with self._step("evaluation"):
            present = give_up_leaving(self.snapshot, np.maximum(self.snapshot.servers.target, FREE))
            score, stay = evaluate(self.snapshot, target), evaluate(self.snapshot, present)
            weight = FIX_FIRST if self.snapshot.policy.fix_first else 1.0
            # Racks, which the counts do not see, decide here. Ties stay.
            if stay.objective + weight * stay.penalty <= score.objective + weight * score.penalty:
                target, score = present, stay
            covered = coverage_of(self.snapshot, target)
        report = SolveReport(
            step_s=self.step_s,
            peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            size=ModelSize(
                counts=len(counts),
                columns=len(model.model.cost),
                rows=len(model.model.row_lower),
                nonzeros=int(model.model.matrix.nnz),
            ),
            score=score,
            stay=stay,
            lower_bound=self.bound,
            best_bound=max(self.bound, self.tree_bound),
            least_penalty=self.least_penalty,
            reservation=self.snapshot.reservations.name,
            shortfall_rru=covered.shortfall,
            neighbourhoods=self.tried,
            improved=self.improved,
            stopped_by=self.stopped_by,
            proven=self.proven,
            seed=self.seed,
        )
        return SolveResult(plan=TargetPlan(target=target, parent_plan_id=self.snapshot.target_plan_id), report=report)

    def _start(self, problem: CountProblem, relaxed: Solution) -> Counts:
        """The better of the rounded relaxation and of staying, both repaired. Ties stay."""
        best = Descent(problem, problem.held)
        best.run(10 * len(self.snapshot.servers))
        if relaxed.x is not None:
            counts = round_counts(problem, relaxed.x[: len(problem.reservation)])
            for _ in range(2):  # mended first, which leaves few to restore; then what restoring tore open
                rounded = Descent(problem, counts)
                rounded.run(10 * len(self.snapshot.servers))
                counts = without_regression(problem, rounded.counts)
            return _cheaper(problem, counts, best.counts)
        return best.counts

    def _search(self, goal: CountProblem, prices: Prices, counts: Counts) -> Counts:
        """Better counts. `goal` weighs penalties as the policy wants it; what is reported is the plain sum."""
        self._report("search", self._plain_total(goal, counts))
        slack = self.limits.exact_gap * max(1.0, abs(self.bound))
        if cost_of(goal, counts).total <= self.bound + slack:
            self.proven = True
            return counts
        if self._stop():
            return counts
        if len(goal.reservation) <= self.limits.exact_columns_max:
            return self._solve_whole(goal, counts)
        search = Search(goal, prices, counts, Effort(), np.random.default_rng(self.seed))
        most = self.limits.neighbourhoods_max
        search.run(
            max(30, goal.reservations) if most is None else most,
            max(24, goal.reservations // 10) if self.limits.stall is None else self.limits.stall,
            self.limits.stall_gain * max(1.0, self.bound),
            self._stop,
            self._time_left,
            lambda _: self._report("search", self._plain_total(goal, search.counts)),
        )
        self.tried, self.improved = search.solved, search.improved
        self._note(search.timed_out)
        return search.counts

    def _plain_total(self, goal: CountProblem, counts: Counts) -> float:
        return cost_of(replace(goal, policy=self.snapshot.policy), counts).total

    def _solve_whole(self, goal: CountProblem, counts: Counts) -> Counts:
        """Few enough columns: branch and bound on all of them."""
        model = build_model(goal)
        limits = Limits(
            time_s_max=self._time_left(),
            nodes_max=self.limits.exact_nodes_max,
            relative_gap=self.limits.exact_gap,
            absolute_gap=1e-6,
        )
        found = solve_mip(
            model.model,
            limits,
            start=model.columns.point(goal, counts),
            seed=self.seed,
            progress=None
            if self.progress is None
            else lambda incumbent, bound, _: self._report("search", incumbent, bound),
            cancelled=self.cancelled,
        )
        self._note(found.timed_out)
        self.tried, self.proven = 1, found.optimal
        if goal.policy is self.snapshot.policy:  # else it bounds other costs than the plain sum
            self.tree_bound = found.bound
        if found.x is None:
            return counts
        better = model.counts(found.x)
        if cost_of(goal, better).total < cost_of(goal, counts).total - 1e-6:
            self.improved = 1
            return better
        return counts

    def _stop(self) -> bool:
        if self.cancelled is not None and self.cancelled():
            self.stopped_by = "cancelled"
        elif self._time_left() <= 0:
            self.stopped_by = "time"
        else:
            return False
        return True

    def _note(self, timed_out: bool) -> None:
        if timed_out and self.stopped_by == "finished":
            self.stopped_by = "cancelled" if self.cancelled is not None and self.cancelled() else "time"

    def _time_left(self) -> float:
        return self.limits.time_s_max - (time.perf_counter() - self.started)

    def _report(self, phase: str, incumbent: float = np.inf, bound: float | None = None) -> None:
        if self.progress is not None:
            bound = self.bound if bound is None else max(bound, self.bound)
            gap = (incumbent - bound) / bound if np.isfinite(incumbent) and bound > 0 else np.nan
            self.progress(phase, incumbent, bound, gap)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self._report(name)
        began = time.perf_counter()
        yield
        self.step_s[name] = time.perf_counter() - began


def _least_penalty(
    model: CountModel, relaxed: Solution, time_s_max: float, cancelled: Callable[[], bool] | None
) -> float:
    """What no plan's penalty is below: the relaxation with the penalties as its only costs, where it has any at all."""
    penalised = np.concatenate([model.columns.short, model.columns.outside])
    cost = np.zeros(len(model.model.cost))
    cost[penalised] = model.model.cost[penalised]
    if relaxed.x is None or float(cost @ relaxed.x) <= 1e-4 * max(1.0, relaxed.bound):
        return 0.0
    m = model.model
    only = Model(
        cost=cost,
        lower=m.lower,
        upper=m.upper,
        integer=m.integer,
        row_lower=m.row_lower,
        row_upper=m.row_upper,
        matrix=m.matrix,
    )
    found = solve_lp(only, "ipm", Limits(time_s_max=time_s_max), cancelled=cancelled)
    return max(0.0, found.bound, bound_from_prices(only, np.zeros(len(m.row_lower))))


def _cheaper(problem: CountProblem, found: Counts, known: Counts) -> Counts:
    return found if cost_of(problem, found).total < cost_of(problem, known).total - 1e-6 else known
