"""Read the whole input of one plan from one snapshot of the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.demand import Demand
from libs.domain.plan_override import PlanOverride
from libs.domain.plan_run import PlanRun
from libs.domain.service_reservation import ServiceReservation
from libs.domain.telemetry import Telemetry
from libs.domain.world import Observations, PlanningInputs, Vocabulary
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.tables import Content
from libs.interchange.planning_inputs.formats import stored_rows
from libs.interchange.planning_inputs.sets import event_minutes, missing_inputs, source_of
from libs.interchange.world.demand import dump_demand
from libs.interchange.world.observations import dump_observations
from libs.interchange.world.planning_inputs import STEPS_MAX, load_planning_inputs
from libs.interchange.world.read import in_events, load_cost_models, load_vocabulary
from libs.interchange.world.service_reservations import load_service_reservations
from libs.store.capacity.promised import load_promised_rru
from libs.store.fleet.regions import load_region_names
from libs.store.ledger.planned_changes import load_planned_changes
from libs.store.planner.executed_changes import load_executed_shares
from libs.store.planner.plan_overrides import load_overrides_in_force
from libs.store.planner.planning_inputs import load_version
from libs.store.platform.database import Transaction
from libs.store.telemetry.span_batches import count_waiting
from services.planner.granted import granted_file
from services.planner.ledger_files import ledger_files, step_numbers
from services.planner.override_rows import override_rows
from services.planner.region_supply import SUPPLY, with_region_supply
from services.planner.remote_regions import RegionQuestion, RegionReading

EXECUTED_ACTIONS_MIN = 5
"""Least number of past actions of a phase. Fewer do not predict the next actions."""
MEASURED_CELLS_MAX = 20_000_000
"""Largest number of measurements in a replay bundle. If there are more, the bundle holds the service models instead."""
_EXECUTED = {"upsize": "executed_upsize_share", "downsize": "executed_downsize_share"}


class Measure(Protocol):
    """Reads measurements, as libs.store.telemetry.window does."""

    def __call__(self, tx: Transaction, words: Vocabulary, *, start: datetime, end: datetime) -> Telemetry:
        """Read the minutes from `start`, a midnight, up to but not including `end`. Drains and load tests are still
        included.
        """


class CannotPlan(Exception):
    """The inputs allow no plan, now or at the next attempt. `reason` is an identifier."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanSnapshot:
    """The input of one plan.

    files     the files of the replay bundle; without measurements if there are too many
    starts    the start of each step
    unknown   numbers of rows of each measurement, and of changes of the ledger, that name something unknown
    reservations  the reservations of services; promised_rru has what is granted of each reservation, by region and name
    unsummed  spans that wait to be summed; the demand does not include them
    regions_read  regions of other installations, whose portals were asked
    """

    words: Vocabulary
    inputs: PlanningInputs
    observations: Observations
    demand: Demand
    cost_models: Floats
    overrides: tuple[PlanOverride, ...]
    starts: tuple[datetime, ...]
    unknown: Mapping[str, int]
    reservations: tuple[ServiceReservation, ...]
    promised_rru: Mapping[tuple[str, str], float]
    unsummed: int
    regions_read: tuple[str, ...]
    files: Mapping[str, Content]


def load_region_question(
    tx: Transaction, run: PlanRun, portals: Collection[str], *, step: timedelta, now: datetime
) -> RegionQuestion | None:
    """Return what the plan has to ask the portals of other installations; None if it needs none of them.

    portals   regions whose portal is known
    """
    assert run.input_versions is not None
    assert run.window_end is not None
    version = run.input_versions.get(SUPPLY)
    if version is None:
        return None
    contents = {SUPPLY: load_version(tx, SUPPLY, version)[1]}
    regions = {row["region"] for row in stored_rows(contents[SUPPLY])} & {*portals} - load_region_names(tx)
    if not regions:
        return None
    _, starts = _steps(contents, run.window_end, step)
    return RegionQuestion(regions=frozenset(regions), starts=starts, step=step, now=now)


def load_plan_snapshot(
    tx: Transaction,
    run: PlanRun,
    measure: Measure,
    *,
    executed_plans: int,
    step: timedelta,
    elsewhere: Mapping[str, RegionReading],
) -> PlanSnapshot:
    """Read the pinned inputs of the run, and the live events of the capacity ledger. Raises CannotPlan.

    step        time that each step of the plan covers. The first one begins when the window of measurements ends.
    elsewhere   the answers of regions of other installations, by region
    """
    assert run.input_versions is not None
    assert run.window_start is not None
    assert run.window_end is not None
    assert run.started_at is not None
    contents: Mapping[str, bytes] = {
        name: load_version(tx, name, version)[1] for name, version in run.input_versions.items()
    }
    missing = missing_inputs(contents)
    if missing:
        raise CannotPlan(
            "MissingInputs",
            f"Missing inputs: {', '.join(missing)}. Use `plimsoll flux inputs put`, or PUT /v1/planning-inputs/NAME.",
        )
    steps, starts = _steps(contents, run.window_end, step)
    contents = with_region_supply(tx, contents, steps, starts, step=step, now=run.started_at, elsewhere=elsewhere)
    overrides = load_overrides_in_force(tx, run.started_at)
    shares = load_executed_shares(tx, plans=executed_plans)
    executed = {_EXECUTED[p]: found.share for p, found in shares.items() if found.actions >= EXECUTED_ACTIONS_MIN}
    source = source_of(contents, override_rows(overrides), policy=executed)
    # A baseline is the median over the window's days, so it shows what happened in the first half of them.
    middle = run.window_start + (run.window_end - run.window_start) / 2
    ends = [start + step for start in starts]
    changes = load_planned_changes(tx, since=middle, ends=ends)
    left, _ = load_planned_changes(tx, since=run.started_at, ends=ends)
    try:
        words = load_vocabulary(source)
        files, unknown_changes = ledger_files(contents, words, steps, *changes)
        source |= files
        reservations = load_service_reservations(source, words)
        promised_rru = _promised_rru(tx, elsewhere) if reservations else {}
        source |= granted_file(contents, words, steps, reservations, promised_rru, left)
        inputs = load_planning_inputs(source, words)
        cost_models = load_cost_models(source, words)
    except InterchangeError as error:
        raise CannotPlan("BadInputs", f"The inputs do not fit together:\n{error}") from error
    # The cost of traces is counted by their day of arrival, and today's counts too. Usage is compared by whole days.
    measured = measure(tx, words, start=run.window_start, end=run.started_at)
    start, end = event_minutes(contents, run.window_start)
    until = (run.window_end - run.window_start).total_seconds() / 60
    seen = _without_events(measured.observations, np.array(start), np.array(end), until)
    if not np.isfinite(seen.usage).any() or not np.isfinite(seen.traffic).any():
        raise CannotPlan(
            "NothingMeasured",
            f"No usage or no traffic is known from {run.window_start:%Y-%m-%d} to "
            f"{run.window_end:%Y-%m-%d} outside of events. `plimsoll flux send` sends tables of both, a metric source "
            "pulls them from Prometheus, and `plimsoll flux telemetry` shows what has arrived.",
        )
    return PlanSnapshot(
        words=words,
        inputs=inputs,
        observations=seen,
        demand=measured.demand,
        cost_models=cost_models,
        overrides=overrides,
        starts=starts,
        unknown={**measured.unknown, "ledger": unknown_changes},
        reservations=reservations,
        promised_rru=promised_rru,
        unsummed=count_waiting(tx).spans,
        regions_read=tuple(sorted(elsewhere)),
        files=source if _vast(seen) else source | dump_observations(words, seen) | dump_demand(words, measured.demand),
    )


def _steps(contents: Mapping[str, bytes], end: datetime, step: timedelta) -> tuple[list[int], tuple[datetime, ...]]:
    """Return the number and the start of each step. Measurements end at `end`."""
    steps = step_numbers(contents)[:STEPS_MAX]  # the reader refuses more of them
    return steps, tuple(end + step * t for t in range(len(steps)))


def _promised_rru(tx: Transaction, elsewhere: Mapping[str, RegionReading]) -> dict[tuple[str, str], float]:
    """Return (region, reservation) -> RRU promised, of this installation's regions and of those elsewhere."""
    found = {(region, name): rru for region, one in elsewhere.items() for name, rru in one.promised_rru.items()}
    return found | load_promised_rru(tx)


def _vast(seen: Observations) -> bool:
    return seen.usage.size + seen.traffic.size > MEASURED_CELLS_MAX


def _without_events(seen: Observations, start: Floats, end: Floats, until: float) -> Observations:
    """Keep the minutes before `until` with a measurement and without a drain or load test in any region."""
    known = np.isfinite(seen.usage).any((0, 1)) | np.isfinite(seen.traffic).any((0, 1))
    kept = known & (seen.minute < until) & ~in_events(seen.minute, start, end)
    return replace(seen, minute=seen.minute[kept], usage=seen.usage[:, :, kept], traffic=seen.traffic[:, :, kept])
