"""How a decision reaches the world: what every actuator does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from libs.domain.move import MoveStep


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """One step to do. (move_id, step, attempt) is its key: the same key is the same request, however often it comes.

    started_at    when it was first asked for, on the Clock
    """

    move_id: int
    step: MoveStep
    attempt: int
    started_at: datetime
    region: str
    server: str
    from_reservation: str | None
    to_reservation: str | None
    from_host_profile: str
    to_host_profile: str | None


class StepState(StrEnum):
    """How a requested step stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """Nothing could be learned: no server is to blame, and the same request comes again."""
    NOT_ASKED = "not_asked"
    """There was no time for it: it comes again on the next tick, before those that were seen to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """How one request stands.

    message       why it failed, or why nothing is known
    ask_again_s   not to be asked again before so many seconds; None: the mover decides
    call          how the call behind it ended, for metrics: one of a few words; None: there was none
    """

    state: StepState
    message: str | None = None
    ask_again_s: float | None = None
    call: str | None = None


@runtime_checkable
class Actuator(Protocol):
    """Does steps, as many at a time as it is asked for.

    It is asked again on every tick of the mover until a step is done or failed, and may be asked once more after that:
    it answers by key. A higher attempt at a step replaces the lower ones. It must return soon: work goes on elsewhere.
    """

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """See to it that these steps get done, and say how each stands, in their order.

        It may leave the last ones for the next tick, as NOT_ASKED: they come in the order of how long they have waited.
        Raises ActuatorUnavailable where nothing can be said: no step counts as failed then.
        """


class ActuatorUnavailable(Exception):
    """The actuator cannot be reached; servers are not to blame."""
