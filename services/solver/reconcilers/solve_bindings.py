"""Compute target bindings from the reservations and servers of a region, every hour."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from structlog import get_logger

from libs.assignment import Limits, Pool
from libs.domain.fleet import FleetSnapshot
from libs.domain.plan import Plan, PlanKind, SolveStatus
from libs.jobs.progress import ProgressRecorder
from libs.observability.logs import redact_text
from libs.observability.tallies import SOLVE_S, SOLVES, STALE
from libs.observability.traces import annotate, span
from libs.plan_check.check import check_plan, require_clean
from libs.plan_check.churn import counted_servers
from libs.plan_check.committed import check_committed
from libs.plan_check.regression import planned_shortfall_rru
from libs.ras.arrival_bounds import settle_within
from libs.ras.awaited_losses import await_lost_domains
from libs.ras.commit_report import committed_report, kept_part
from libs.ras.findings import findings_of, found_ids
from libs.ras.held_while_short import with_held
from libs.ras.power_bounds import PowerBound
from libs.ras.quota_bounds import QuotaBound
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveResult
from libs.ras.waves.report import foretell
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StalePlan
from libs.reconcile.jobs import SOLVE
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.findings import record_findings
from libs.store.capacity.followed_shares import follow_holdings
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.capacity.quotas import load_bounds, lock_limits
from libs.store.capacity.rru_catalogue import follow_catalogue
from libs.store.capacity.shared_buffers import size_shared_buffers
from libs.store.fleet.lost_domains import load_lost_domains
from libs.store.fleet.power_limits import load_power_bounds
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers import load_free_servers
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.churn import with_churn
from libs.store.moves.exceptions import settle_exceptions
from libs.store.moves.foretold_loans import settle_foretold_loans
from libs.store.moves.moving_state import load_moving_state
from libs.store.moves.replacement_need import ask_for_replacements
from libs.store.plans.plans import commit_plan, lock_lineage, lock_plan
from libs.store.plans.solve_runs import (
    fail_left_runs,
    finish_solve_run,
    record_bundle,
    record_progress,
    start_solve_run,
)
from libs.store.platform.database import Database
from services.solver.kept_bundles import keep_bundle
from services.solver.phase_spans import PhaseSpans
from services.solver.settings import SolverSettings

ACTOR, WAVES_ACTOR = "solver.catalogue", "solver.waves"
log = get_logger(__name__)


class RunGivenUp(Exception):
    """Another run of the region has begun, because this run's worker was silent for longer than its lease."""


@dataclass(frozen=True, slots=True)
class SolveBindings:
    """Moves the targets of one region toward its reservations.

    The last target stands until a better plan is committed as a whole. The next run marks a killed run as failed.
    """

    database: Database
    clock: Clock
    settings: SolverSettings
    region: str
    trigger: str
    pool: Callable[[], AbstractContextManager[Pool | None]] = nullcontext
    """Opens the pool that solves parts of the program; None: threads of this process."""

    def reconcile(self) -> SolveStatus:
        """Load the region, plan, check, and commit if the plan's parent is still the target. Return how the run
        ended.
        """
        began_s = time.perf_counter()
        try:
            return self._run()
        finally:
            SOLVE_S.observe(time.perf_counter() - began_s, self.region)

    def _run(self) -> SolveStatus:
        with span("solve load"):
            snapshot, solve_run_id = self._begin()
        annotate({"plimsoll.region": self.region, "plimsoll.solve_run_id": solve_run_id})
        seed = snapshot.target_plan_id or 0
        limits = Limits(time_s_max=self.settings.solve_s_max)
        try:
            bundle = keep_bundle(
                self.settings.bundle_dir,
                snapshot,
                run_id=solve_run_id,
                seed=seed,
                limits=limits,
                most=self.settings.bundles_max,
            )
            with self.database.write() as tx:
                record_bundle(tx, solve_run_id, str(bundle))
            with (
                ProgressRecorder(self.database, solve_run_id, record_progress) as progress,
                PhaseSpans() as phases,
                self.pool() as pool,
            ):

                def report(phase: str, incumbent: float, bound: float, gap: float) -> None:
                    phases.enter(phase)
                    progress.report(phase, incumbent, bound, gap)

                result = plan_target_bindings(
                    snapshot, limits, seed=seed, progress=report, cancelled=progress.cancelled, pool=pool
                )
            result = with_held(snapshot, result)
            with span("solve check"):
                require_clean(check_plan(snapshot, result.plan))
            with span("solve commit"):
                return self._commit(snapshot, result, solve_run_id)
        except RunGivenUp as given_up:  # its row already has the status failed
            log.warning("solve.given_up", region=self.region, solve_run_id=solve_run_id, error=str(given_up))
            return SolveStatus.STALE
        except StalePlan as stale:
            STALE.count(SOLVE)
            self._finish(solve_run_id, SolveStatus.STALE, error=str(stale))
            return SolveStatus.STALE
        except Exception as error:
            # Store the error where operators look for it. The job that runs this reports and retries it.
            self._finish(solve_run_id, SolveStatus.FAILED, error=redact_text(f"{type(error).__name__}: {error}"))
            raise

    def _begin(self) -> tuple[FleetSnapshot, int]:
        now = self.clock.now()
        with self.database.write() as tx:
            region = load_region(tx, self.region, lock=True)
            size_shared_buffers(tx, region.region_id, share=region.policy.shared_buffer_share, now=now)
            follow_catalogue(tx, region.region_id, actor=ACTOR, now=now)
            follow_holdings(tx, region.region_id)
            crash_point("solver.buffers.before")
        crash_point("solver.buffers.after")
        with self.database.snapshot() as tx:
            snapshot = with_churn(tx, load_fleet_snapshot(tx, self.region), now=now)
            snapshot = await_lost_domains(snapshot, load_lost_domains(tx, self.region, now=now), now)
        with self.database.write() as tx:
            left = fail_left_runs(tx, region.region_id, now=now)
            solve_run_id = start_solve_run(
                tx,
                region.region_id,
                trigger=self.trigger,
                seed=snapshot.target_plan_id or 0,
                parent_plan_id=snapshot.target_plan_id,
                now=now,
            )
            crash_point("solver.begin.before")
        crash_point("solver.begin.after")
        if left:
            SOLVES.count(self.region, SolveStatus.FAILED.value, "killed", by=left)
        return snapshot, solve_run_id

    def _commit(self, snapshot: FleetSnapshot, result: SolveResult, solve_run_id: int) -> SolveStatus:
        """Commit in one transaction the sound part of the changes, the status of each reservation and the run's end."""
        now, parent = self.clock.now(), result.plan.parent_plan_id
        with self.database.snapshot() as tx:
            state = load_moving_state(tx, snapshot.region)
        waves = foretell(snapshot, result.plan.target, state)
        with self.database.write() as tx:
            region_id = load_region(tx, snapshot.region).region_id
            lock_lineage(tx, region_id, snapshot.region, parent)
            lock_limits(tx, region_id)
            lock_plan(tx, snapshot, result.plan, parent=parent)
            changes = load_plan_changes(tx, snapshot, result.plan)
            planned = planned_shortfall_rru(snapshot, result.plan.target)[changes.touched.row]
            power = load_power_bounds(tx, region_id, snapshot, changes.row, result.plan.target[changes.row])
            bounds = QuotaBound(load_bounds(tx, snapshot, changes)), PowerBound(power)
            settled = settle_within(changes, snapshot.policy, planned, bounds)
            require_clean(check_committed(changes, settled.kept, snapshot.policy, planned, power))
            kept = kept_part(snapshot, result.plan, changes, settled)
            plan = commit_plan(
                tx,
                snapshot,
                kept,
                kind=PlanKind.SOLVE,
                now=now,
                parent=parent,
                solve_run_id=solve_run_id,
                dropped=int((~settled.kept).sum()),
                churns=counted_servers(snapshot, kept.target),
            )
            coverage = load_coverage(tx, found_ids(snapshot), "target")
            findings = findings_of(snapshot, kept.target, load_free_servers(tx, region_id), coverage)
            record_findings(tx, region_id, findings, now=now)
            report = committed_report(snapshot, kept, result.report, changes, settled, coverage)
            if not settled.kept.all():
                waves = foretell(snapshot, kept.target, state)
            report["waves"] = waves.report
            plan_id = snapshot.target_plan_id if plan is None else plan.plan_id
            settle_exceptions(tx, region_id, waves.exceptions, plan_id=plan_id, actor=WAVES_ACTOR, reason=None, now=now)
            settle_foretold_loans(tx, region_id, waves.loans)
            status = SolveStatus.UNCHANGED if plan is None else SolveStatus.COMMITTED
            finished = finish_solve_run(
                tx,
                solve_run_id,
                status,
                now=now,
                plan_id=None if plan is None else plan.plan_id,
                report=report,
            )
            if not finished:  # the transaction takes the plan back too: a failed run has none
                raise RunGivenUp(f"solve run {solve_run_id} was given up while it ran")
            crash_point("solver.commit.before")
        crash_point("solver.commit.after")
        if plan is not None:
            with self.database.write() as tx:
                ask_for_replacements(tx, self.region)
        SOLVES.count(self.region, status.value, result.report.stopped_by)
        log.info("solve.done", region=self.region, solve_run_id=solve_run_id, status=status.value, **_figures(plan))
        return status

    def _finish(self, solve_run_id: int, status: SolveStatus, *, error: str) -> None:
        SOLVES.count(self.region, status.value, "error")
        with self.database.write() as tx:
            finish_solve_run(tx, solve_run_id, status, now=self.clock.now(), error=error)
        log.warning(
            "solve.not_committed", region=self.region, solve_run_id=solve_run_id, status=status.value, error=error
        )


def _figures(plan: Plan | None) -> Mapping[str, object]:
    return {} if plan is None else {"plan_id": plan.plan_id, "changes": plan.changes, "left_alone": plan.left_alone}
