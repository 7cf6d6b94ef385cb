"""Plans and the solve runs that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlanKind(StrEnum):
    """Who decided. Only import and solve head the lineage; the others change servers by generation."""

    IMPORT = "import"
    SOLVE = "solve"
    GRANT = "grant"
    RELEASE = "release"
    REPLACEMENT = "replacement"
    """Lost servers changed places with spare ones of the shared buffers."""


class SolveStatus(StrEnum):
    """How a solve run stands. Unless it ends in COMMITTED, the last target stays. One told to stop commits its best."""

    RUNNING = "running"
    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    STALE = "stale"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An immutable change of target bindings.

    changes     servers whose target it changed
    left_alone  servers that had changed under the solve and were left as they are
    """

    plan_id: int
    region: str
    parent_plan_id: int | None
    kind: PlanKind
    solve_run_id: int | None
    capacity_request_id: int | None
    changes: int
    left_alone: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """One server whose target a plan changed; None: free. A reservation is named even where it was deleted since."""

    server_id: int
    server: str
    from_reservation: str | None
    to_reservation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRun:
    """One run of the solver: what it was asked, how far it is, what it found."""

    solve_run_id: int
    region: str
    trigger: str
    status: SolveStatus
    seed: int
    parent_plan_id: int | None
    plan_id: int | None
    progress: Mapping[str, object]
    report: Mapping[str, object] | None
    error: str | None
    bundle: str | None
    cancel_requested: bool
    started_at: datetime
    finished_at: datetime | None
