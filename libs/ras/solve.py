"""Solve a region: state it as a problem, let the assignment library solve that, and assign single servers.

See docs/designs/0018.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from libs.assignment import Limits, Objective, Pool, Progress, Result, StoppedBy, solve
from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.power_use import beyond_w
from libs.domain.uplinks import weighs_uplinks
from libs.plan_check.churn import ChurnBudget, check_churn, churn_budget, counted_preemptions, needs_repair
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import TOLERANCE, broken_promises, check_regression
from libs.ras.bundle_limits import for_region, with_time
from libs.ras.churn import Churn, divided, without_requests
from libs.ras.evaluate import Score, coverage_of, evaluate
from libs.ras.extraction import extract_targets
from libs.ras.fixing_first import fixing_first, repairing_lawfully
from libs.ras.heard_plans import HeardPlans
from libs.ras.loss_report import report_losses
from libs.ras.phases.clock import Clock
from libs.ras.phases.racks import NAME as RACKS
from libs.ras.phases.racks import spread_racks
from libs.ras.phases.report import PhaseReport
from libs.ras.phases.uplinks import NAME as UPLINKS
from libs.ras.phases.uplinks import relieve_uplinks
from libs.ras.power_relief import relieved_by_retirement
from libs.ras.power_report import report_power
from libs.ras.retiring_servers import give_up_leaving
from libs.ras.server_classes import places_of
from libs.ras.solve_result import SolveReport, SolveResult
from libs.ras.statement import Statement, state_region
from libs.ras.statement_names import PENALTY
from libs.ras.zones import Zones, choose_zones, scattered

DEFAULTS = Limits()
SOLVER = "portfolio"
PHASES = ((RACKS, spread_racks), (UPLINKS, relieve_uplinks))
"""The phases after the first, in order. The last one is only for regions whose racks have limits."""
SAME = 1e-6
"""Relative difference up to which penalties count as equal, for rounding in sums of floats."""
PROVEN = 1e-4
"""Largest gap of a proven plan. Its program may count less than its score: servers that retire draw no power in it."""
WITHOUT_BUDGET_SHARE = 0.6
WITHIN_BUDGET_SHARE = 0.85
"""Shares of the time until two plans end: the one without a churn budget, and the one within it that may need a repair
plan after it.
"""
DOMAINS = "domains"
"""The step that chooses domains."""
ZONES_SHARE = 0.3
"""Share of the time for a choice of domains."""
FINISHING = 0.25
"""Expected time to extract and evaluate a plan, as a multiple of the time to build its problem. Measured: 0.17 to
0.27.
"""
Listener = Callable[[str, float, float, float], None]
"""A function of phase, incumbent, bound and gap. The incumbent is the total cost, without racks, of the best plan.

Before there is a plan, the incumbent is inf and the gap is nan.
"""


def plan_target_bindings(
    snapshot: FleetSnapshot,
    limits: Limits = DEFAULTS,
    *,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Callable[[], bool] | None = None,
    pool: Pool | None = None,
    keeps_promises: bool = True,
) -> SolveResult:
    """Return the target binding of every server: minimise expressions 1 and 3 to 7, and then refine the worst racks.

    The first phase has all reservations and no goal for racks; later phases refine its plan for a few reservations, in
    the time that is left (docs/designs/0048). The plan is never worse than the present targets. A request that cannot
    be met raises no error: the report has its shortfall. Source: RAS, section 3.5; departures in docs/adr/0003 to 0005.

    progress   receives phase, incumbent, bound and gap
    cancelled  returns whether to stop; the best plan so far is then the answer
    pool       solves parts of a relaxation and neighbourhoods; None: threads of this process
    keeps_promises  whether the sum of all penalties must not grow, as in a plan to be committed. Otherwise a policy
                    without `fix_first` may give one that adds shortfalls, if these are cheap
    """
    return _Solve(snapshot, limits, seed, progress, cancelled, pool, keeps_promises=keeps_promises).run()


class _Solve:
    """One solve of a region, with its clock and the seconds of its steps."""

    def __init__(
        self,
        snapshot: FleetSnapshot,
        limits: Limits,
        seed: int,
        progress: Listener | None,
        cancelled: Callable[[], bool] | None,
        pool: Pool | None,
        *,
        keeps_promises: bool = True,
    ) -> None:
        self.limits, self.seed = for_region(limits), seed
        self.progress, self.cancelled, self.pool = progress, cancelled, pool
        self.keeps_promises, self.weighs = keeps_promises, False  # weighs: for a sum, although this solve fixes first
        self.snapshot = repairing_lawfully(snapshot)
        self.started, self.started_processor_s = time.perf_counter(), time.process_time()
        self.step_s: dict[str, float] = {}
        self.zones = self._zones()
        self.churn_most: Ints | None = None
        """The preemptions (R,) to which the answer keeps; None: it has no such limit."""

    @property
    def fix_first(self) -> bool:
        return self.snapshot.policy.fix_first

    def run(self) -> SolveResult:
        budget = churn_budget(self.snapshot)
        may_go = self.zones is not None and bool(self.zones.gone.any())
        found, target, wanted = self._first(budget, WITHOUT_BUDGET_SHARE if may_go else 1.0)
        if self.keeps_promises and not self.fix_first and check_regression(self.snapshot, target):
            self.snapshot, self.weighs = fixing_first(self.snapshot), True
            found, target, wanted = self._first(budget, WITHOUT_BUDGET_SHARE if may_go else 1.0)
        if may_go and (back := scattered(self.snapshot, target)).any():
            found, target, wanted = self._first_again(budget, target, back)
        present = give_up_leaving(self.snapshot, np.maximum(self.snapshot.servers.target, FREE))
        with self._step("evaluation", say=False):
            score, stay = evaluate(self.snapshot, target), evaluate(self.snapshot, present)
            illegal = bool(check_churn(self.snapshot, target)) or beyond_w(self.snapshot, target).any()
            if illegal or not self._is_better(target, score, present, stay):
                target = present  # only the scores know racks; a tie keeps the present targets
        first = target
        target, phases = self._refined(target, budget)
        with self._step("evaluation"):
            score = evaluate(self.snapshot, target)
            least_penalty, lower_bound = self._bounds(found, score)
            proven = (
                found.stopped_by is StoppedBy.OPTIMAL
                and np.array_equal(first, target)
                and self.zones is None
                and not relieved_by_retirement(self.snapshot)
                and abs(score.total_without_rack - lower_bound) <= PROVEN * max(1.0, score.total_without_rack)
            )
            if self.zones is not None or budget is not None or relieved_by_retirement(self.snapshot):
                # the plan may keep servers outside the chosen domains, or beyond a limit that the budget keeps broken;
                # and its program counts on no retiring server to bring a domain below its limit on power
                least_penalty = min(least_penalty, score.penalty)
                lower_bound = min(lower_bound, score.total_without_rack)
            covered = coverage_of(self.snapshot, target)
            churn = None
            if budget is not None:
                planned = counted_preemptions(self.snapshot, target)
                churn = Churn(budget=budget, wanted=wanted, planned=planned)
        report = SolveReport(
            step_s=self.step_s,
            processor_s=time.process_time() - self.started_processor_s,
            peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            size=found.size,
            score=score,
            stay=stay,
            lower_bound=lower_bound,
            least_penalty=least_penalty,
            reservation=self.snapshot.reservations.name,
            priority=self.snapshot.reservations.priority,
            shortfall_rru=covered.shortfall,
            units_per_rru=self.snapshot.units_per_rru,
            neighbourhoods=found.tries,
            improved=found.timeline[-1].made if found.timeline else 0,
            stopped_by=_ended(found, phases),
            proven=proven,
            seed=self.seed,
            churn=churn,
            phases=phases,
            losses=report_losses(self.snapshot, covered),
            power=report_power(self.snapshot, present, target),
            chosen_domains=self.zones is not None,
        )
        self._tell("evaluation", score.total_without_rack, report.lower_bound, report.gap)
        return SolveResult(plan=TargetPlan(target=target, parent_plan_id=self.snapshot.target_plan_id), report=report)

    def _first(
        self, budget: ChurnBudget | None, share: float = 1.0, begin: Indices | None = None
    ) -> tuple[Result, Indices, Ints]:
        """Return the answer of the first phase, its plan, and the preemptions (R,) that it would have without a churn
        budget. It takes a share of the time.

        begin  (S,) the targets to begin from; None: the present ones
        """
        self.churn_most = None
        if budget is None:
            found, target = self._plan(self._shortened(share), begin=begin)
            return found, target, np.zeros(len(self.snapshot.reservations), np.int64)
        found, target = self._plan(self._shortened(WITHOUT_BUDGET_SHARE * share), begin=begin)
        wanted = counted_preemptions(self.snapshot, target)
        if budget.exceeded_by(wanted):
            found, target = self._plan_within(divided(budget, wanted), found, target, share)
        return found, target, wanted

    def _first_again(self, budget: ChurnBudget | None, target: Indices, back: Bools) -> tuple[Result, Indices, Ints]:
        """Return the first phase again. The reservations `back` (R,), which did not move to other domains as a whole,
        keep their domains. If others then scatter, all reservations keep theirs, which scatters none.

        Each solve begins at the plan before it, `target` (S,) at first. So it loses little if the time ends early.
        """
        self.zones = self._zones(back)
        found, target, wanted = self._first(budget, WITHIN_BUDGET_SHARE, self._without(target, back))
        if (more := scattered(self.snapshot, target)).any():
            self.zones = self._zones(np.ones_like(back))
            found, target, wanted = self._first(budget, begin=self._without(target, more))
        return found, target, wanted

    def _without(self, target: Indices, back: Bools) -> Indices:
        """Return the plan `target` (S,), but the reservations `back` (R,) neither lose nor gain a server in it."""
        present = np.maximum(self.snapshot.servers.target, FREE)
        stay = np.append(back, False)  # FREE counts from the end
        return np.where(stay[present] | stay[target], present, target).astype(target.dtype)

    def _zones(self, stay: Bools | None = None) -> Zones | None:
        """Return the zones of the region, in a share of the time. The reservations `stay` (R,) keep their domains."""
        if not self.snapshot.reservations.limits_domains.any():
            return None
        limit_s = self.limits.time_s_max
        time_s_max = math.inf if limit_s is None else ZONES_SHARE * limit_s
        with self._step(DOMAINS):
            return choose_zones(self.snapshot, stay=stay, time_s_max=time_s_max, cancelled=self.cancelled)

    def _refined(self, target: Indices, budget: ChurnBudget | None) -> tuple[Indices, tuple[PhaseReport, ...]]:
        """Return the plan after the later phases, and the reports of those that had something to do."""
        limit_s = self.limits.time_s_max
        until = math.inf if limit_s is None else self.started + limit_s
        clock, reports = Clock(until=until, cancelled=self.cancelled), []
        for name, phase in PHASES if weighs_uplinks(self.snapshot) else PHASES[:1]:
            with self._step(name):
                target, report = phase(self.snapshot, target, budget, self.limits, clock, seed=self.seed)
            reports += [] if report is None else [report]
        return target, tuple(reports)

    def _plan_within(self, most: Ints, free: Result, best: Indices, share: float) -> tuple[Result, Indices]:
        """Return the plan with at most `most` (R,) preemptions, or one beyond them if only that repairs what was
        granted, or a hard limit. `free` and `best` are the answer and the plan without a budget. It ends after a share
        of the time.

        A plan beyond them gives requests that wait for their grant nothing more: no preemption hides behind a repair.
        """
        broken = needs_repair(self.snapshot)
        limits = self._shortened(WITHIN_BUDGET_SHARE * share if broken else share)
        found, target = self._plan(limits, most)
        self.churn_most = most
        if not (broken and self._repairs_more(best, target)):
            return found, target
        _, repaired = self._plan(self._shortened(share), most, of=without_requests(self.snapshot), may_exceed=True)
        # It asks for less, so it may leave the band of affinity of the whole capacity. No plan regresses.
        if not self._repairs_more(repaired, target) or check_regression(self.snapshot, repaired):
            return found, target
        self.churn_most = None
        return free, repaired  # the bounds of `free` hold for plans beyond the budget, and those of the repair do not

    def _repairs_more(self, one: Indices, other: Indices) -> bool:
        """Return whether a plan breaks hard limits less than another one, or promises less and hard limits no more."""
        limits, less = (excess(self.snapshot, target) for target in (other, one))
        if abs(limits - less) > TOLERANCE:
            return bool(less < limits)
        lacks, fewer = (float(broken_promises(self.snapshot, target).sum()) for target in (other, one))
        return lacks - fewer > TOLERANCE * max(1.0, lacks)

    def _plan(
        self,
        limits: Limits,
        churn_most: Ints | None = None,
        *,
        of: FleetSnapshot | None = None,
        may_exceed: bool = False,
        begin: Indices | None = None,
    ) -> tuple[Result, Indices]:
        """Return the answer of the solver and the targets (S,) that follow, with a limit on preemptions (R,).

        of     the region with other capacities; None: with its own
        begin  as in _first
        """
        with self._step("build"):
            statement = state_region(
                of or self.snapshot, zones=self.zones, churn_most=churn_most, may_exceed=may_exceed
            )
        levels = len({goal.priority for goal in statement.problem.goals}) if self.fix_first else 1
        heard = HeardPlans(levels, self._tell)
        with self._step("search", say=False):
            found = self._solved(statement, limits, heard, begin)
        self.step_s["build"] += found.build_s
        self.step_s["search"] -= found.build_s
        with self._step("extraction"):
            places = places_of(self.snapshot, zones=self.zones)
            binding = statement.binding(found.assignment, self.snapshot.servers.target)
            wanted = places.counts(binding, len(self.snapshot.reservations))
            return found, extract_targets(self.snapshot, places, wanted)

    def _shortened(self, share: float) -> Limits:
        """Return the limits with a share of the time that the choice of domains leaves, so that time is left for
        another plan.
        """
        if self.limits.time_s_max is None:
            return self.limits
        spent = min(self.step_s.get(DOMAINS, 0.0), self.limits.time_s_max)
        return with_time(self.limits, spent + share * (self.limits.time_s_max - spent))

    def _solved(
        self,
        statement: Statement,
        limits: Limits,
        heard: Callable[[Progress], None] | None,
        begin: Indices | None = None,
    ) -> Result:
        """Solve the problem of `statement` in the time that is left of `limits`. `begin` as in _first."""
        left_s = None
        if limits.time_s_max is not None:
            finishing_s = FINISHING * self.step_s.get("build", 0.0)
            left_s = max(limits.time_s_max - (time.perf_counter() - self.started) - finishing_s, 0.0)
        return solve(
            statement.problem,
            with_time(limits, left_s),
            solver=SOLVER,
            objective=Objective.PRIORITIES if self.fix_first else Objective.SUM,
            start=None if begin is None else statement.assignment(begin),
            seed=self.seed,
            progress=heard,
            cancelled=self.cancelled,
            pool=self.pool,
        )

    def _is_better(self, target: Indices, score: Score, present: Indices, stay: Score) -> bool:
        """Return whether the plan is better than `present` (S,), the present targets without the servers that leave
        anyway: it breaks hard limits less, or costs less.
        """
        broken, least = excess(self.snapshot, target), excess(self.snapshot, present)
        if abs(broken - least) > SAME * max(1.0, least):
            return broken < least
        if self.fix_first and not self.weighs and abs(score.penalty - stay.penalty) > SAME * max(1.0, stay.penalty):
            return score.penalty < stay.penalty
        return score.total < stay.total

    def _bounds(self, found: Result, score: Score) -> tuple[float, float]:
        """Return lower bounds of the penalty and of the cost without racks, of every plan like the answer `found`.

        If the solve fixes first, the second one holds for plans that lack no more than `found`. A repair beyond the
        churn budget may lack more, because requests that wait get nothing in it. It then has the bounds of the rest.
        """
        least = self._least_penalty(found, score)
        lower = max(least, found.sum_bound)
        lacks = found.objective[1][0] if self._bounds_penalties(found) else math.inf
        if score.penalty <= lacks + SAME * max(1.0, lacks):
            lower = max(lower, sum(found.bound[1:]))
        return least, lower

    def _bounds_penalties(self, found: Result) -> bool:
        """Return whether the answer `found` has a level of penalties alone."""
        return self.fix_first and PENALTY in {goal.priority for goal in found.problem.goals}

    def _least_penalty(self, found: Result, score: Score) -> float:
        """Return a lower bound of the penalty of every plan.

        If the policy fixes first, it is the bound of the level of penalties. Otherwise it is 0 if the plan has no
        penalty, and the bound of a second solve for penalties alone if it has one.
        """
        if self._bounds_penalties(found):
            return max(0.0, found.bound[1])
        if score.penalty <= SAME * max(1.0, score.total):
            return 0.0
        alone = state_region(self.snapshot, zones=self.zones, goals=(PENALTY,), churn_most=self.churn_most)
        return max(0.0, sum(self._solved(alone, replace(self.limits, neighbourhoods_max=0), None).bound[1:]))

    def _tell(self, phase: str, incumbent: float = math.inf, bound: float = 0.0, gap: float | None = None) -> None:
        """Tell the progress. `gap` None: until the least penalty is known, it counts as 0 in the gap."""
        if self.progress is not None:
            known = (incumbent - bound) / bound if math.isfinite(incumbent) and bound > 0 else math.nan
            self.progress(phase, incumbent, bound, known if gap is None else gap)

    @contextmanager
    def _step(self, name: str, *, say: bool = True) -> Iterator[None]:
        if say:
            self._tell(name)
        began = time.perf_counter()
        yield
        self.step_s[name] = self.step_s.get(name, 0.0) + time.perf_counter() - began


def _ended(found: Result, phases: tuple[PhaseReport, ...]) -> str:
    """Return "finished", or what ended the first phase or a later one."""
    cut = [phase.stopped_by for phase in phases if phase.stopped_by != "finished"]
    first = {StoppedBy.TIME: "time", StoppedBy.CANCELLED: "cancelled"}.get(found.stopped_by)
    return first or (cut[0] if cut else "finished")
