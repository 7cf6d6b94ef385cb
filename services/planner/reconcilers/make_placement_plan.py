"""Make a placement plan and its execution plan from inputs and measurements, weekly."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from structlog import get_logger

from libs.domain.placement_what_if import what_if_of
from libs.domain.plan_run import PlanRun, PlanRunStatus
from libs.domain.words import as_sentence
from libs.domain.world import ServiceModels
from libs.flux.models.cost_models import CostModelError
from libs.flux.models.service_models import fit_service_models
from libs.flux.planning import Planned, plan_world
from libs.flux.program.placement import NoPlanError, StoppedError, UnsolvedError
from libs.flux.report.headroom import headroom_document
from libs.flux.report.summary import models_document
from libs.flux.report.what_if import difference_document
from libs.flux.reservation_sizes import ReservationTable
from libs.flux.what_if import WhatIfError, changed_world
from libs.interchange.files.tables import Content
from libs.interchange.world.service_models import service_models_document
from libs.jobs.progress import ProgressRecorder
from libs.mip.highs import Limits
from libs.observability.logs import redact_text
from libs.observability.tallies import PLAN_RUN_S, PLAN_RUNS, STALE
from libs.observability.traces import annotate, span
from libs.plan_check.check import PlanRefusedError
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StalePlan
from libs.reconcile.jobs import PLAN
from libs.store.planner.placement_plans import commit_placement_plan, forget_plan_files
from libs.store.planner.plan_runs import (
    create_plan_run,
    finish_plan_run,
    record_plan_bundle,
    record_plan_progress,
    take_plan_run,
)
from libs.store.planner.service_models import forget_service_models, save_service_models
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.telemetry.window import load_telemetry
from services.planner.document_names import MODEL, WHAT_IF
from services.planner.documents import plan_files, plan_summary
from services.planner.kept_bundles import keep_world
from services.planner.remote_regions import REGION_UNKNOWN, RegionReading, RegionsUnknown, RemoteRegions
from services.planner.settings import PlannerSettings
from services.planner.snapshot import CannotPlan, Measure, PlanSnapshot, load_plan_snapshot, load_region_question

log = get_logger(__name__)
ATTEMPTS_MAX = 3
"""Largest number of starts of a run. A run that has not ended by then is given up, so that later runs get their turn.
"""


class AttemptReplaced(Exception):
    """Another worker took over the run, because this one seemed dead."""


@dataclass(frozen=True, slots=True)
class MakePlacementPlan:
    """Carries the oldest open run to its end. Idempotent: its inputs are pinned with the run, and it commits once."""

    database: Database
    clock: Clock
    settings: PlannerSettings
    measure: Measure = load_telemetry
    regions: RemoteRegions = field(default_factory=lambda: RemoteRegions({}))
    lost: Callable[[], bool] = lambda: False
    """Whether this attempt has lost its lease."""

    def reconcile(self) -> PlanRunStatus | None:
        """Return how the run ended; None if no run is open. Raises errors that may pass, so that the job tries
        again.
        """
        with self.database.write() as tx:
            run = take_plan_run(tx, window=self._window(), now=self.clock.now())
            crash_point("planner.begin.before")
        crash_point("planner.begin.after")
        if run is None:
            return None
        annotate({"plimsoll.plan_run_id": run.plan_run_id})
        began_s = time.perf_counter()
        try:
            return self._run(run)
        finally:
            PLAN_RUN_S.observe(time.perf_counter() - began_s)

    def _run(self, run: PlanRun) -> PlanRunStatus:
        if run.cancel_requested:
            return self._finish(run, PlanRunStatus.CANCELLED)
        if run.attempts > ATTEMPTS_MAX:
            message = f"None of {ATTEMPTS_MAX} attempts ended; the worker's log says why."
            return self._finish(run, PlanRunStatus.FAILED, "Crashed", message)
        try:
            with ProgressRecorder(self.database, run.plan_run_id, record_plan_progress) as progress:
                return self._plan(run, progress)
        except StoppedError as stopped:
            if self.lost():
                raise
            if progress.cancelled():
                return self._finish(run, PlanRunStatus.CANCELLED)
            return self._finish(run, PlanRunStatus.FAILED, "OutOfTime", f"{stopped}; PLIMSOLL_PLAN_SOLVE_S_MAX.")
        except RegionsUnknown as unknown:
            return self._finish(run, PlanRunStatus.FAILED, REGION_UNKNOWN, str(unknown))
        except CannotPlan as cannot:
            return self._finish(run, PlanRunStatus.FAILED, cannot.reason, str(cannot))
        except WhatIfError as error:
            return self._finish(run, PlanRunStatus.FAILED, "BadWhatIf", as_sentence(str(error)))
        except CostModelError as cost_model:
            return self._finish(run, PlanRunStatus.FAILED, "CostModel", str(cost_model))
        except NoPlanError as no_plan:
            return self._finish(run, PlanRunStatus.FAILED, "NoPlan", str(no_plan))
        except UnsolvedError as unsolved:
            return self._finish(run, PlanRunStatus.FAILED, "Unsolved", str(unsolved))
        except PlanRefusedError as refused:
            return self._finish(run, PlanRunStatus.FAILED, "PlanRefused", str(refused))
        except StalePlan as stale:
            STALE.count(PLAN)
            return self._finish(run, PlanRunStatus.STALE, "StalePlan", str(stale))
        except AttemptReplaced as replaced:
            log.warning("plan.attempt_replaced", error=str(replaced))
            return PlanRunStatus.STALE
        except UNAVAILABLE:
            raise
        except Exception as error:
            log.exception("plan.broke", plan_run_id=run.plan_run_id, attempt=run.attempts)
            if run.attempts >= ATTEMPTS_MAX:
                self._finish(run, PlanRunStatus.FAILED, "Crashed", redact_text(f"{type(error).__name__}: {error}"))
            raise

    def _plan(self, run: PlanRun, progress: ProgressRecorder) -> PlanRunStatus:
        step_s: dict[str, float] = {}
        step = timedelta(days=self.settings.step_days)
        with self.database.snapshot() as tx:
            question = load_region_question(tx, run, self.regions.portals.keys(), step=step, now=self.clock.now())
        elsewhere: Mapping[str, RegionReading] = {}
        if question is not None:
            progress.report("regions")
            with span("plan regions"), _timed(step_s, "regions"):
                elsewhere = self.regions.read(question)
            progress.report("loading")
        with span("plan load"), _timed(step_s, "load"), self.database.snapshot() as tx:
            found = load_plan_snapshot(
                tx,
                run,
                self.measure,
                executed_plans=self.settings.executed_plans,
                step=step,
                elsewhere=elsewhere,
            )
        bundle = self._keep(run, found.files)
        progress.report("model")
        with span("plan model"), _timed(step_s, "model"):
            models = fit_service_models(found.words, found.observations, found.demand, found.cost_models)
        document = service_models_document(found.words, models)
        if "usage.parquet" not in found.files:
            bundle = self._keep(run, {**found.files, MODEL: json.dumps(document).encode()})
        with self.database.write() as tx:
            if not record_plan_bundle(tx, run, str(bundle)):
                raise AttemptReplaced(f"plan run {run.plan_run_id}, attempt {run.attempts}")
            save_service_models(tx, run.plan_run_id, document["services"])
            crash_point("planner.model.before")
        crash_point("planner.model.after")
        solve = partial(
            plan_world,
            limits=Limits(time_s_max=self.settings.solve_s_max),
            cancelled=lambda: progress.cancelled() or self.lost(),
            entering=progress.report,
        )
        world, before = (found.words, models, found.inputs), None
        if run.what_if is not None:
            with span("plan solve without the change"), _timed(step_s, "plan_without"), suppress(NoPlanError):
                before = solve(*world)
            world = changed_world(*world, what_if_of(run.what_if))
        with span("plan solve"), _timed(step_s, "plan"):
            planned = solve(*world)
        if progress.cancelled():
            raise StoppedError("cancelled")
        progress.report("commit")
        return self._commit(run, found, models, planned, step_s, before)

    def _keep(self, run: PlanRun, files: Mapping[str, Content]) -> Path:
        most = self.settings.bundles_max
        return keep_world(self.settings.bundle_dir, files, plan_run_id=run.plan_run_id, most=most)

    def _commit(
        self,
        run: PlanRun,
        found: PlanSnapshot,
        models: ServiceModels,
        planned: Planned,
        step_s: dict[str, float],
        before: Planned | None,
    ) -> PlanRunStatus:
        """Commit in one transaction the plan with its documents, the target, and the end of the run.

        before   of a what-if: the plan without its changes
        """
        files, now = plan_files(planned), self.clock.now()
        summary = plan_summary(planned, found.starts, timedelta(days=self.settings.step_days).total_seconds())
        if run.what_if is not None:
            files[WHAT_IF] = json.dumps({"asked": run.what_if, **difference_document(before, planned)}).encode()
        with span("plan commit"), self.database.write() as tx:
            placement_plan_id = commit_placement_plan(
                tx,
                plan_run_id=run.plan_run_id,
                parent=run.parent_placement_plan_id,
                committed=not run.dry_run,
                input_versions=run.input_versions or {},
                overrides=[{"plan_override_id": one.plan_override_id, "reason": one.reason} for one in found.overrides],
                summary=summary,
                files=files,
                now=now,
            )
            finished = finish_plan_run(
                tx,
                run,
                PlanRunStatus.DONE,
                now=now,
                placement_plan_id=placement_plan_id,
                report=_report(found, models, summary, step_s, self.settings.headroom_excess_max),
            )
            if not finished:  # the transaction takes the plan back too
                raise AttemptReplaced(f"plan run {run.plan_run_id}, attempt {run.attempts}")
            forget_plan_files(tx, most=self.settings.plans_max)
            forget_service_models(tx, most=self.settings.plans_max)
            crash_point("planner.commit.before")
        crash_point("planner.commit.after")
        PLAN_RUNS.count(PlanRunStatus.DONE.value, "")
        log.info("plan.done", plan_run_id=run.plan_run_id, placement_plan_id=placement_plan_id)
        return PlanRunStatus.DONE

    def _finish(self, run: PlanRun, status: PlanRunStatus, reason: str = "", error: str = "") -> PlanRunStatus:
        now = self.clock.now()
        with self.database.write() as tx:
            ended = finish_plan_run(tx, run, status, now=now, reason=reason or None, error=error or None)
            if ended and status is PlanRunStatus.STALE:  # the person who asked for the run still wants a plan
                create_plan_run(
                    tx,
                    trigger=run.trigger,
                    requested_by=run.requested_by,
                    request_reason=run.request_reason,
                    dry_run=run.dry_run,
                    what_if=run.what_if,
                    now=now,
                )
        PLAN_RUNS.count(status.value, reason)
        log.warning("plan.not_made", plan_run_id=run.plan_run_id, status=status.value, reason=reason, error=error)
        return status

    def _window(self) -> tuple[datetime, datetime]:
        """Return the start and end of the latest whole days, in UTC."""
        end = self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return end - timedelta(days=self.settings.window_days), end


@contextmanager
def _timed(into: dict[str, float], name: str) -> Iterator[None]:
    """Record the real seconds of the block."""
    began_s = time.perf_counter()
    yield
    into[name] = time.perf_counter() - began_s


def _report(
    found: PlanSnapshot,
    models: ServiceModels,
    summary: dict[str, Any],
    step_s: dict[str, float],
    headroom_excess_max: float,
) -> dict[str, Any]:
    return {
        "minutes": len(found.observations.minute),
        "spans": int(found.demand.spans.sum()),
        "unknown": dict(found.unknown),
        "unsummed": found.unsummed,
        "regions_read": list(found.regions_read),
        "models": models_document(found.words, models),
        "plan": summary,
        "headroom": headroom_document(
            found.words,
            models,
            ReservationTable(found.reservations),
            found.promised_rru,
            excess_max=headroom_excess_max,
        ),
        "step_s": step_s,
    }
