"""Everything that one plan is made from, read in one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.demand import Demand
from libs.domain.plan_override import PlanOverride
from libs.domain.plan_run import PlanRun
from libs.domain.telemetry import Telemetry
from libs.domain.world import Observations, PlanningInputs, Vocabulary
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.tables import Content
from libs.interchange.planning_inputs.sets import event_minutes, missing_inputs, source_of
from libs.interchange.world.demand import dump_demand
from libs.interchange.world.observations import dump_observations
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import in_events, load_cost_models, load_vocabulary
from libs.store.planner.executed_changes import load_executed_shares
from libs.store.planner.plan_overrides import load_overrides_in_force
from libs.store.planner.planning_inputs import load_version
from libs.store.platform.database import Transaction
from libs.store.telemetry.span_batches import count_waiting
from services.planner.override_rows import override_rows

EXECUTED_ACTIONS_MIN = 5
"""Of a phase: what fewer actions did says nothing of the next ones."""
MEASURED_CELLS_MAX = 20_000_000
"""Measurements that a replay bundle holds; where there are more, the models that were made from them."""
_EXECUTED = {"upsize": "executed_upsize_share", "downsize": "executed_downsize_share"}


class Measure(Protocol):
    """Reads measurements, as libs.store.telemetry.window does."""

    def __call__(self, tx: Transaction, words: Vocabulary, *, start: datetime, end: datetime) -> Telemetry:
        """From start, a midnight, to before end; drains and load tests are still in it."""


class CannotPlan(Exception):
    """What a plan is made from does not allow one, today or at the next attempt. reason is an identifier."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanSnapshot:
    """files: the world that it all stands for, as a replay bundle holds it; without measurements if they are vast.

    unsummed  spans that came in and wait to be summed: they are not in the demand
    """

    words: Vocabulary
    inputs: PlanningInputs
    observations: Observations
    demand: Demand
    cost_models: Floats
    overrides: tuple[PlanOverride, ...]
    unknown: Mapping[str, int]
    unsummed: int
    files: Mapping[str, Content]


def load_plan_snapshot(tx: Transaction, run: PlanRun, measure: Measure, *, executed_plans: int) -> PlanSnapshot:
    """Read what the run has pinned. Raises CannotPlan."""
    assert run.input_versions is not None
    assert run.window_start is not None
    assert run.window_end is not None
    assert run.started_at is not None
    contents = {name: load_version(tx, name, version)[1] for name, version in run.input_versions.items()}
    missing = missing_inputs(contents)
    if missing:
        raise CannotPlan(
            "MissingInputs",
            f"Nobody has put {', '.join(missing)} yet: `plimsoll flux inputs put`, or PUT /v1/planning-inputs/NAME.",
        )
    overrides = load_overrides_in_force(tx, run.started_at)
    shares = load_executed_shares(tx, plans=executed_plans)
    executed = {_EXECUTED[p]: found.share for p, found in shares.items() if found.actions >= EXECUTED_ACTIONS_MIN}
    source = source_of(contents, override_rows(overrides), policy=executed)
    try:
        words = load_vocabulary(source)
        inputs = load_planning_inputs(source, words)
        cost_models = load_cost_models(source, words)
    except InterchangeError as error:
        raise CannotPlan("BadInputs", f"The inputs do not fit together:\n{error}") from error
    # What traces cost is counted by the day on which they came, and today's cost as much as yesterday's. Use is
    # compared by day, so it is that of whole days.
    measured = measure(tx, words, start=run.window_start, end=run.started_at)
    start, end = event_minutes(contents, run.window_start)
    until = (run.window_end - run.window_start).total_seconds() / 60
    seen = _without_events(measured.observations, np.array(start), np.array(end), until)
    if not np.isfinite(seen.usage).any() or not np.isfinite(seen.traffic).any():
        raise CannotPlan(
            "NothingMeasured",
            f"No use, or no traffic, of any service and product is known from {run.window_start:%Y-%m-%d} to "
            f"{run.window_end:%Y-%m-%d} outside of events. `plimsoll flux send` sends tables of both, a metric source "
            "pulls them from Prometheus, and `plimsoll flux telemetry` says what came in.",
        )
    return PlanSnapshot(
        words=words,
        inputs=inputs,
        observations=seen,
        demand=measured.demand,
        cost_models=cost_models,
        overrides=overrides,
        unknown=measured.unknown,
        unsummed=count_waiting(tx).spans,
        files=source if _vast(seen) else source | dump_observations(words, seen) | dump_demand(words, measured.demand),
    )


def _vast(seen: Observations) -> bool:
    return seen.usage.size + seen.traffic.size > MEASURED_CELLS_MAX


def _without_events(seen: Observations, start: Floats, end: Floats, until: float) -> Observations:
    """The minutes before `until` in which anything was measured, and no drain or load test was under way anywhere."""
    known = np.isfinite(seen.usage).any((0, 1)) | np.isfinite(seen.traffic).any((0, 1))
    kept = known & (seen.minute < until) & ~in_events(seen.minute, start, end)
    return replace(seen, minute=seen.minute[kept], usage=seen.usage[:, :, kept], traffic=seen.traffic[:, :, kept])
