"""A move: the steps that bring one server from one reservation to another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.departure_wait import ServerWait
from libs.domain.holding import Place


class MoveStep(StrEnum):
    """Steps in their order (RAS, 3.2).

    After ABORT nothing of older moves will happen to the server any more. After PREEMPT it has left its reservation.
    After JOIN it is in the new one.
    """

    ABORT = "abort"
    PREEMPT = "preempt"
    CLEAN = "clean"
    HOST_PROFILE = "host_profile"
    JOIN = "join"


class MoveStatus(StrEnum):
    """Status of a move. All but RUNNING are final."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class DeadLetter(StrEnum):
    """State of a move that has failed for good. A server with an OPEN one does not move."""

    OPEN = "open"
    RETRIED = "retried"
    """An operator had the mover start again."""
    SKIPPED = "skipped"
    """An operator did the step by hand, and the move went on with the next step."""
    MENDED = "mended"
    """The unavailability event that the failed move had opened was ended, or the server left the fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One stored move. `steps` are fixed when the move starts; `step_index` is the step under way.

    attempt        attempt at the step under way, from 1
    ask_at         time before which the actuator is not asked again; None: it is asked on the next tick
    calls_failed   consecutive calls for this step without an answer
    note           last message of the actuator
    is_spare       True: the server is lent to the reservation for the time of an exchange; it is not its target
    urgent_reason  an operator's reason to let the server leave at the level *hold*; None: it is not urgent
    waits          why the server may not leave its reservation yet; None: the move does not wait
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
    is_spare: bool
    urgent_reason: str | None
    waits: ServerWait | None

    @property
    def step(self) -> MoveStep:
        """Return the step under way; of a finished move, its last step."""
        return self.steps[self.step_index]


class StepResult(StrEnum):
    """Result of an attempt at a step."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """An operator did the step by hand."""
    UNKNOWN = "unknown"
    """The actuator did not answer in time. The step may be done now, or still be done later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One attempt at one step of a finished move."""

    step_index: int
    attempt: int
    step: MoveStep
    outcome: StepResult
    message: str | None
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningMove:
    """A running move, and the state of its server.

    step_started_at    in the future during the back-off after a failed attempt
    wanted             True: the move's destination is still the server's target, and it is not there as it should be
    available          True: the server is neither down nor in maintenance
    host_profile       host profile of the server
    to_host_profile    host profile of the destination; of a step that was asked for, its profile at that time
    from_buffer        True: the move takes the server from a shared buffer, so it is a replacement
    ask_at             time before which the actuator is not asked again; None: the next tick
    calls_failed       consecutive calls for this step without an answer
    asked              True: the actuator may have been asked for this step, so the step may be under way
    leaves_rru         RRU that the server's reservation loses when the server leaves
    domain_ids         the server's domain of each further kind that reservations survive, or UNPLACED
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
    asked: bool = False
    leaves_rru: float = 0.0
    domain_ids: tuple[int, ...] = ()

    @property
    def step(self) -> MoveStep:
        """Return the step under way."""
        return self.steps[self.step_index]

    @property
    def place(self) -> Place:
        """Return the domains of the server."""
        return (self.msb_id, *self.domain_ids)

    @property
    def due_at(self) -> datetime:
        """Return the earliest time of the next call to the actuator."""
        return self.step_started_at if self.ask_at is None else max(self.ask_at, self.step_started_at)

    @property
    def stays(self) -> bool:
        """Return whether the server stays where it is: only its host profile changes."""
        return self.from_reservation_id is not None and self.from_reservation_id == self.to_reservation_id

    @property
    def takes_capacity(self) -> bool:
        """Return whether the move takes the server from a reservation to which the server gives capacity.

        If so, the move counts against the share of the server's MSB. A shared buffer does not count, and a server in
        doubt counts for no reservation.
        """
        is_in_doubt = MoveStep.ABORT in self.steps
        return self.from_reservation_id is not None and not self.from_buffer and not is_in_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStart:
    """A move to start, with the server's generation at the time of reading.

    is_replacement   True: the server leaves a shared buffer for a reservation, or is a free one that is lent
    """

    server_id: int
    server_generation: int
    from_reservation_id: int | None
    to_reservation_id: int | None
    steps: tuple[MoveStep, ...]
    is_replacement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebinding:
    """A server whose binding changes without any step, with its generation at the time of reading: it enters or leaves
    a shared buffer, and is clean.
    """

    server_id: int
    server_generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveChange:
    """The change of a running move: its next step, its next attempt, or its end.

    result, message    result of the attempt under way, for the history; None: the attempt had not begun
    status             RUNNING: the move goes on at step_index, attempt and step_started_at
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
    """A running move to ask about again later: its step is under way, or the call brought no answer.

    calls_failed   consecutive calls without an answer, this one included
    """

    move: RunningMove
    ask_at: datetime
    calls_failed: int
    note: str | None
