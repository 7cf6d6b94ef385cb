"""Solve the snapshot of the last real solve with the policy that is rolled out, and compare (docs/designs/0053)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from structlog import get_logger

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.plan import SolveRun
from libs.domain.policy_rollout import OPEN, ComparisonStatus, Finding, PolicyRollout, RolloutStage
from libs.interchange.bundles.solve import Bundle, load_bundle
from libs.jobs.progress import ProgressRecorder
from libs.observability.logs import redact_text
from libs.plan_check.check import check_plan, require_clean
from libs.ras.bundle_limits import limits_from
from libs.ras.held_while_short import with_held
from libs.ras.policy_comparison import compare_policies
from libs.ras.policy_history import SOLVES_MOST, SolveFigures, judge_figures
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveResult
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.fleet.policy_rollouts import load_latest_rollout, load_rollout
from libs.store.fleet.regions import load_region
from libs.store.plans.policy_comparisons import (
    finish_comparison,
    forget_comparisons,
    load_latest_comparison,
    load_planned,
    load_run_to_shadow,
    load_solve_reports,
    solve_waits,
    start_comparison,
)
from libs.store.plans.solve_runs import load_solve_run
from libs.store.platform.database import Database, Transaction
from libs.store.regions.rollout_stages import hold_rollout

log = get_logger(__name__)
KEPT_MAX = 100
"""Number of comparisons to keep per roll-out."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A comparison that this run has to finish. `left` is True if its worker died before it ended."""

    policy_comparison_id: int
    region_id: int
    rollout: PolicyRollout
    run: SolveRun
    left: bool


@dataclass(frozen=True, slots=True)
class SolveShadow:
    """Solves the open roll-out of one region beside its last real solve. It writes its comparison, and may hold the
    roll-out. It writes nothing that a solve or a move reads.

    after_job   the job of the real solve that asked for it; None: another one
    """

    database: Database
    clock: Clock
    region: str
    after_job: int | None = None

    def reconcile(self) -> ComparisonStatus | None:
        """Compare, and return how that ended. None: there was nothing to compare, or a real solve waits."""
        begun = self._begin()
        if begun is None:
            return None
        if begun.left:
            return self._fail(begun, "the worker ended before the shadow solve did")
        try:
            return self._compare(begun)
        except Exception as error:  # a shadow that fails holds its roll-out; the job is done, and not tried again
            log.exception("shadow_solve.failed", region=self.region, solve_run_id=begun.run.solve_run_id)
            return self._fail(begun, redact_text(f"{type(error).__name__}: {error}"))

    def _begin(self) -> _Begun | None:
        with self.database.write() as tx:
            region_id = load_region(tx, self.region).region_id
            rollout = load_latest_rollout(tx, region_id)
            if rollout is None or rollout.stage not in OPEN or rollout.held:
                return None
            latest = load_latest_comparison(tx, rollout.policy_rollout_id)
            if latest is not None and latest.status is ComparisonStatus.RUNNING:  # one runs at a time: its worker died
                of = load_solve_run(tx, latest.solve_run_id)
                return _Begun(latest.policy_comparison_id, region_id, rollout, of, left=True)
            run = load_run_to_shadow(tx, region_id, since=rollout.stage_at)
            if run is None or (latest is not None and latest.solve_run_id == run.solve_run_id):
                return None
            if solve_waits(tx, self.region, after_job=self.after_job):
                return None
            new_id = start_comparison(tx, rollout, run.solve_run_id, now=self.clock.now())
            crash_point("solver.shadow.begin.before")
        crash_point("solver.shadow.begin.after")
        return _Begun(new_id, region_id, rollout, run, left=False)

    def _compare(self, begun: _Begun) -> ComparisonStatus:
        assert begun.run.bundle is not None
        assert begun.run.report is not None
        bundle = load_bundle(begun.run.bundle)
        snapshot = bundle.region.snapshot
        with self.database.snapshot() as tx:
            planned = [] if begun.run.plan_id is None else load_planned(tx, begun.run.plan_id)
            before, most = begun.rollout.canary_at, SOLVES_MOST
            history = load_solve_reports(tx, begun.region_id, before=before, most=most)
        result = self._solve(bundle, begun)
        if result is None:
            return self._finish(begun, ComparisonStatus.YIELDED)
        capacity = float(snapshot.reservations.capacity_rru.sum())
        past = [SolveFigures.of_report(one) for one in history]
        shadow = SolveFigures.of_report(result.report.as_dict())
        findings = judge_figures(shadow, past, capacity_rru=capacity, of="the shadow solve")
        if begun.rollout.stage is RolloutStage.CANARY:
            real = SolveFigures.of_report(begun.run.report)
            known = {one.reason for one in findings if one.reason == "TooLittleHistory"}
            judged = judge_figures(real, past, capacity_rru=capacity, of="the solve with the canary")
            findings += tuple(one for one in judged if one.reason not in known)
        plain = replace(snapshot, canary=None)
        report = compare_policies(plain, _after(snapshot, planned), begun.run.report, result)
        return self._finish(begun, ComparisonStatus.DONE, report=report, findings=findings)

    def _solve(self, bundle: Bundle, begun: _Begun) -> SolveResult | None:
        """Return the answer with the new policy for all reservations; None if a real solve waits meanwhile."""
        snapshot = bundle.region.snapshot
        new = replace(snapshot, policy=begun.rollout.new_policy(snapshot.policy), canary=None)

        def make_room(tx: Transaction, _: int, __: Mapping[str, object]) -> bool:
            return solve_waits(tx, self.region, after_job=self.after_job)

        with ProgressRecorder(self.database, begun.policy_comparison_id, make_room) as progress:
            result = plan_target_bindings(
                new,
                limits_from(bundle.limits),
                seed=bundle.seed,
                progress=progress.report,
                cancelled=progress.cancelled,
            )
        if progress.cancelled():
            return None
        result = with_held(new, result)
        require_clean(check_plan(new, result.plan))
        return result

    def _fail(self, begun: _Begun, error: str) -> ComparisonStatus:
        finding = Finding(reason="ShadowFailed", message=f"the shadow solve failed: {error}", numbers={})
        return self._finish(begun, ComparisonStatus.FAILED, findings=(finding,), error=error)

    def _finish(
        self,
        begun: _Begun,
        status: ComparisonStatus,
        *,
        report: Mapping[str, Any] | None = None,
        findings: tuple[Finding, ...] = (),
        error: str | None = None,
    ) -> ComparisonStatus:
        """Store the end of the comparison. Hold the roll-out for its findings, unless it has moved on meanwhile."""
        now = self.clock.now()
        with self.database.write() as tx:
            rollout = load_rollout(tx, begun.rollout.policy_rollout_id, lock=True)
            finished = finish_comparison(
                tx, begun.policy_comparison_id, status, now=now, report=report, findings=findings, error=error
            )
            if finished and findings and rollout.generation == begun.rollout.generation:
                hold_rollout(tx, begun.region_id, rollout, findings, now)
            forget_comparisons(tx, rollout.policy_rollout_id, most=KEPT_MAX)
            crash_point("solver.shadow.finish.before")
        crash_point("solver.shadow.finish.after")
        log.info("shadow_solve.done", region=self.region, solve_run_id=begun.run.solve_run_id, status=status.value)
        return status


def _after(snapshot: FleetSnapshot, planned: list[tuple[str, str | None]]) -> Indices:
    """Return the (S,) targets of the snapshot after a plan with these changes. Later servers are left out."""
    target = np.maximum(snapshot.servers.target, FREE).astype(np.int32)
    row = {str(name): i for i, name in enumerate(snapshot.servers.name)}
    number = {str(name): r for r, name in enumerate(snapshot.reservations.name)}
    for server, reservation in planned:
        if server in row:
            target[row[server]] = FREE if reservation is None else number.get(reservation, FREE)
    return target
