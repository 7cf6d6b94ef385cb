"""Runs of the planner, and the placement plans that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlanRunStatus(StrEnum):
    """queued -> running -> how it ended."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STALE = "stale"
    """Another plan was committed meanwhile."""
    FAILED = "failed"
    CANCELLED = "cancelled"


class PlanTrigger(StrEnum):
    """Who asked."""

    SCHEDULE = "schedule"
    REQUEST = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """One run.

    dry_run         its plan is kept to be looked at, and does not become the target
    attempts        how often it was begun
    input_versions  input -> version that it reads; None before it began, as the window and the parent
    window_start, window_end   whole days of measurements behind it, in UTC
    reason, error   why it failed: an identifier, and words
    """

    plan_run_id: int
    trigger: PlanTrigger
    requested_by: str | None
    request_reason: str | None
    dry_run: bool
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
    """One placement plan, without its documents.

    committed  whether it became the target when it was made; else it was made to be looked at
    target     whether it is the target now: the plan that is to be carried out
    overrides  those that it keeps to, by id, with their reasons
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
    """A service's model of one run. document: as model.json holds it."""

    service_model_id: int
    plan_run_id: int
    service: str
    confidence: str
    document: Mapping[str, object]
