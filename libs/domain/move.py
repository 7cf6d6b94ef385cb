"""A move: one server on its way from one reservation to another, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from libs.domain.fleet import Bools, Ints
from libs.domain.mover import Mover


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


class DeadLetter(StrEnum):
    """A move that failed for good is one; only OPEN keeps its server from moving again."""

    OPEN = "open"
    RETRIED = "retried"
    """An operator had the mover start afresh."""
    SKIPPED = "skipped"
    """An operator did the step by hand, and the move went on behind it."""
    MENDED = "mended"
    """Somebody ended the event that had reported its server, or the server has left the fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A row of the mover. `steps` are fixed when the move starts; `step_index` is the one under way.

    attempt        of the step under way, from 1
    ask_at         not to be asked for before that; None: on the next tick
    calls_failed   calls in a row about this step that brought no answer
    note           what the actuator said last
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
    ask_at: datetime | None
    calls_failed: int
    note: str | None
    dead_letter: DeadLetter | None

    @property
    def step(self) -> MoveStep:
        """The step under way; of a move that is over, the one it ended at."""
        return self.steps[self.step_index]


class StepResult(StrEnum):
    """How an attempt at a step ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """An operator says that it was done by hand."""


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
    from_buffer        what it leaves is a shared buffer: it is a replacement
    ask_at             not to be asked for before that
    calls_failed       calls in a row about this step that brought no answer
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
    from_buffer: bool = False
    ask_at: datetime | None = None
    calls_failed: int = 0

    @property
    def step(self) -> MoveStep:
        """The step under way."""
        return self.steps[self.step_index]

    @property
    def due_at(self) -> datetime:
        """When the actuator is to be asked for it next."""
        return self.step_started_at if self.ask_at is None else max(self.ask_at, self.step_started_at)

    @property
    def takes_capacity(self) -> bool:
        """Whether a reservation had its server when it started, so that it counts against its MSB's share."""
        return self.from_reservation_id is not None and not self.from_buffer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingServers:
    """Servers (N of them) that are up, are not where they should be, and have no move.

    id, generation, msb_id     (N,) int
    current_id, target_id      (N,) int    reservation ids; 0: none
    in_use                     (N,) bool
    other_profile              (N,) bool   the target's host profile differs from the server's
    uncleaned                  (N,) bool   its last move ended after it had left a reservation and before it was cleaned
    urgent                     (N,) bool   on its way out of a shared buffer into a reservation: a replacement
    """

    id: Ints
    generation: Ints
    msb_id: Ints
    current_id: Ints
    target_id: Ints
    in_use: Bools
    other_profile: Bools
    uncleaned: Bools
    urgent: Bools

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovesSnapshot:
    """What the mover decides on, of one moment. `waiting` has only urgent ones while no other could start anyway.

    msb_servers    msb_id -> its number of servers
    msb_started    msb_id -> moves that started in the last minute; only where their number is bounded
    """

    region: str
    region_id: int
    running: tuple[RunningMove, ...]
    waiting: WaitingServers
    msb_servers: Mapping[int, int]
    mover: Mover
    msb_started: Mapping[int, int] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePostponed:
    """A running move whose step is under way, or of which nothing could be learned: when to ask again.

    calls_failed   calls in a row that brought no answer, this one included
    """

    move: RunningMove
    ask_at: datetime
    calls_failed: int
    note: str | None
