"""Runs of the planner, and the placement plans and service models that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlanRunStatus(StrEnum):
    """Status of a plan run: queued -> running -> one of the others."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STALE = "stale"
    """Another plan was committed during the run."""
    FAILED = "failed"
    CANCELLED = "cancelled"


class PlanTrigger(StrEnum):
    """The trigger of a plan run."""

    SCHEDULE = "schedule"
    REQUEST = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """One run of the planner.

    dry_run         True: the run's plan is stored for reading, and does not become the target plan
    what_if         changes of the world that the run plans for, a PlacementWhatIf as a document; None: none
    attempts        number of attempts so far
    input_versions  input -> version that the run reads. Like window and parent, it is None before the run begins
    window_start, window_end   the measurements used, in whole days of UTC
    reason, error   cause of a failure: an identifier, and words
    """

    plan_run_id: int
    trigger: PlanTrigger
    requested_by: str | None
    request_reason: str | None
    dry_run: bool
    what_if: Mapping[str, object] | None
    status: PlanRunStatus
    attempts: int
    input_versions: Mapping[str, int] | None
    window_start: datetime | None
    window_end: datetime | None
    parent_placement_plan_id: int | None
    placement_plan_id: int | None
    progress: Mapping[str, object]
    report: Mapping[str, object] | None
    reason: str | None
    error: str | None
    bundle: str | None
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """One placement plan, without the documents stored with the plan.

    committed  True: the plan became the target plan when it was made. False: the plan came from a dry run
    target     True: the plan is the target plan now
    overrides  the overrides that the plan respects, by id, with their reasons
    """

    placement_plan_id: int
    parent_placement_plan_id: int | None
    plan_run_id: int
    committed: bool
    target: bool
    input_versions: Mapping[str, int]
    overrides: Sequence[Mapping[str, object]]
    summary: Mapping[str, object]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """The model of a service from one run. document has the layout of model.json."""

    service_model_id: int
    plan_run_id: int
    service: str
    confidence: str
    document: Mapping[str, object]
