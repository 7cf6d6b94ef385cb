"""A move: one server on its way from one reservation to another, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.fleet import Bools, Ints


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

    @property
    def step(self) -> MoveStep:
        """The step under way; of a move that is over, the one it ended at."""
        return self.steps[self.step_index]


class StepResult(StrEnum):
    """How an attempt at a step ended."""

    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One attempt at one step of a move that is over."""

    step_index: int
    attempt: int
    step: MoveStep
    outcome: StepResult
    message: str | None
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningMove:
    """A running move and what the mover must know of its server.

    step_started_at    in the future while a failed attempt is being waited out
    wanted             its `to` is still the server's target
    available          the server is not down
    to_host_profile    that of the reservation it goes to
    """

    move_id: int
    generation: int
    server_id: int
    server_generation: int
    server: str
    msb_id: int
    from_reservation_id: int | None
    to_reservation_id: int | None
    from_reservation: str | None
    to_reservation: str | None
    steps: tuple[MoveStep, ...]
    step_index: int
    attempt: int
    step_started_at: datetime
    wanted: bool
    available: bool
    host_profile: str
    to_host_profile: str | None

    @property
    def step(self) -> MoveStep:
        """The step under way."""
        return self.steps[self.step_index]

    @property
    def takes_capacity(self) -> bool:
        """Whether its server was bound when it started, and so counts against its MSB's share."""
        return self.from_reservation_id is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingServers:
    """Servers (N of them) that are up, are not where they should be, and have no move.

    id, generation, msb_id     (N,) int
    current_id, target_id      (N,) int    reservation ids; 0: none
    in_use                     (N,) bool
    other_profile              (N,) bool   the target's host profile differs from the server's
    uncleaned                  (N,) bool   its last move ended after it had left a reservation and before it was cleaned
    """

    id: Ints
    generation: Ints
    msb_id: Ints
    current_id: Ints
    target_id: Ints
    in_use: Bools
    other_profile: Bools
    uncleaned: Bools

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovesSnapshot:
    """What the mover decides on, of one moment. `waiting` is empty while no further move could start anyway.

    msb_servers    msb_id -> its number of servers
    """

    region: str
    region_id: int
    running: tuple[RunningMove, ...]
    waiting: WaitingServers
    msb_servers: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStart:
    """A move to start, against the generation that its server was read at."""

    server_id: int
    server_generation: int
    from_reservation_id: int | None
    to_reservation_id: int | None
    steps: tuple[MoveStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveChange:
    """What becomes of a running move: its next step or attempt, or its end.

    result, message    how the attempt under way ended, for the history; None: it had not begun
    status             RUNNING: goes on at step_index, attempt and step_started_at
    """

    move: RunningMove
    result: StepResult | None
    message: str | None
    status: MoveStatus
    reason: str | None
    step_index: int
    attempt: int
    step_started_at: datetime
