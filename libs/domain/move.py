"""A move: one server on its way from one reservation to another, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MoveStep(StrEnum):
    """What is done to a server, in this order (RAS, 3.2).

    Once PREEMPT is done the server has left its reservation; once JOIN is done it is in the new one.
    """

    PREEMPT = "preempt"
    CLEAN = "clean"
    HOST_PROFILE = "host_profile"
    JOIN = "join"


class MoveStatus(StrEnum):
    """A move ends in one of the last three."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A row of the mover. `steps` are fixed when the move starts; `step_index` is the one under way.

    attempt    of the step under way, from 1
    """

    move_id: int
    region: str
    server_id: int
    server: str
    from_reservation_id: int | None
    to_reservation_id: int | None
    from_reservation: str | None
    to_reservation: str | None
    steps: tuple[MoveStep, ...]
    step_index: int
    attempt: int
    status: MoveStatus
    reason: str | None
    step_started_at: datetime
    generation: int
    created_at: datetime
    finished_at: datetime | None
