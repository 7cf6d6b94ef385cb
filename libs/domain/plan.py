"""Plans and the solve runs that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlanKind(StrEnum):
    """The origin of a plan. Only plans of imports and solves form the lineage. The others compare and swap the
    generation of each server.
    """

    IMPORT = "import"
    SOLVE = "solve"
    GRANT = "grant"
    RELEASE = "release"
    REPLACEMENT = "replacement"
    """Lost servers swapped places with spare servers of the shared buffers."""


class SolveStatus(StrEnum):
    """Status of a solve run. Only COMMITTED changes the target. A cancelled run commits its best plan so far."""

    RUNNING = "running"
    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    STALE = "stale"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An immutable change of target bindings.

    changes     number of servers whose target the plan changed
    left_alone  number of servers that the plan binds elsewhere and that kept their target: they changed during the
                solve, or their change would have left a reservation short
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
    """One change of a server's target. A reservation of None means that the server is free. A reservation that was
    deleted later is still named.
    """

    server_id: int
    server: str
    from_reservation: str | None
    to_reservation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRun:
    """One run of the solver: its input, progress and result."""

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
