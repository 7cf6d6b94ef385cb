"""The phases of a solve: relaxation, rounding, neighbourhoods, trimming, extraction. See docs/designs/0002."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.domain.arrays import Floats
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.mip.bound import bound_from_prices
from libs.mip.highs import Limits, solve_lp
from libs.mip.model import Model
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.extraction import extract_targets
from libs.ras.release_unneeded import without_needless
from libs.ras.retiring_servers import give_up_leaving
from libs.ras.search_objective import FIX_FIRST, goal_model, penalty_model, plain_model
from libs.ras.server_classes import places_of
from libs.ras.solve_limits import SolveLimits
from libs.ras.solve_result import ModelSize, SolveReport, SolveResult
from libs.ras.statement import state_region

DEFAULTS = SolveLimits()
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
        self.plain: Model
        self.bound, self.tree_bound, self.least_penalty = 0.0, 0.0, 0.0
        self.stopped_by = "finished"

    def run(self) -> SolveResult:
        policy = self.snapshot.policy
        with self._step("build"):
            statement = state_region(self.snapshot)
            lowered = lower(statement.problem)
            places = places_of(self.snapshot, statement, lowered)
            self.plain, goal = plain_model(lowered), goal_model(lowered, policy)
            phases = Phases(lowered, goal, self.limits, self.seed, self)
        with ThreadPoolExecutor(1) as aside:  # the penalty's own bound is worked out beside the search
            with self._step("relaxation"):
                relaxed = phases.relax(self.plain, cancelled=self.cancelled)
                self.note(timed_out=relaxed.timed_out)
                self.bound = max(0.0, relaxed.bound)
            only = penalty_model(lowered)
            penalty = aside.submit(_least_penalty, only, relaxed, self.time_left(), self.cancelled)
            with self._step("rounding"):
                counts = phases.start(relaxed, lowered.held)
            with self._step("search"):
                counts = phases.improve(relaxed, counts, self.bound)
            with self._step("least_penalty"):
                self.least_penalty = penalty.result()
        if not policy.fix_first:  # else it bounds other costs than the plain sum
            self.tree_bound = phases.tree_bound
        with self._step("extraction"):
            wanted = without_needless(self.snapshot.reservations, places, places.wanted(counts))
            target = extract_targets(self.snapshot, places, wanted)
        with self._step("evaluation"):
            present = give_up_leaving(self.snapshot, np.maximum(self.snapshot.servers.target, FREE))
            score, stay = evaluate(self.snapshot, target), evaluate(self.snapshot, present)
            weight = FIX_FIRST if policy.fix_first else 1.0
            # Racks, which the counts do not see, decide here. Ties stay.
            if stay.objective + weight * stay.penalty <= score.objective + weight * score.penalty:
                target, score = present, stay
            covered = coverage_of(self.snapshot, target)
        report = SolveReport(
            step_s=self.step_s,
            peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            size=ModelSize(
                counts=len(counts),
                columns=len(goal.cost),
                rows=len(goal.row_lower),
                nonzeros=int(goal.matrix.nnz),
            ),
            score=score,
            stay=stay,
            lower_bound=self.bound,
            best_bound=max(self.bound, self.tree_bound),
            least_penalty=self.least_penalty,
            reservation=self.snapshot.reservations.name,
            shortfall_rru=covered.shortfall,
            neighbourhoods=phases.tried,
            improved=phases.improved,
            stopped_by=self.stopped_by,
            proven=phases.proven,
            seed=self.seed,
        )
        return SolveResult(plan=TargetPlan(target=target, parent_plan_id=self.snapshot.target_plan_id), report=report)

    def stop(self) -> bool:
        """Whether the caller or the clock ends it."""
        if self.cancelled is not None and self.cancelled():
            self.stopped_by = "cancelled"
        elif self.time_left() <= 0:
            self.stopped_by = "time"
        else:
            return False
        return True

    def time_left(self) -> float:
        """Seconds."""
        return self.limits.time_s_max - (time.perf_counter() - self.started)

    def note(self, *, timed_out: bool) -> None:
        """A solver was stopped."""
        if timed_out and self.stopped_by == "finished":
            self.stopped_by = "cancelled" if self.cancelled is not None and self.cancelled() else "time"

    def found(self, point: Floats, bound: float) -> None:
        """Report what is reported: the plain sum, whatever the search weighs penalties with."""
        known = self.snapshot.policy.fix_first or bound == -np.inf
        self._report("search", self.plain.objective(point), self.bound if known else bound)

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


def _least_penalty(only: Model, relaxed: Relaxation, time_s_max: float, cancelled: Callable[[], bool] | None) -> float:
    """What no plan's penalty is below: the relaxation with the penalties as its only costs, where it has any at all."""
    if relaxed.point is None or only.objective(relaxed.point) <= 1e-4 * max(1.0, relaxed.bound):
        return 0.0
    found = solve_lp(only, "ipm", Limits(time_s_max=time_s_max), cancelled=cancelled)
    return max(0.0, found.bound, bound_from_prices(only, np.zeros(len(only.row_lower))))
