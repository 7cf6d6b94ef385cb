"""The interface of an actuator, which carries out the steps of moves on real servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from libs.domain.move import MoveStep

ASK_AGAIN_S_MAX = 3600.0
"""The longest wait that an actuator may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """A step to do. (move_id, step, attempt) is its key: requests with the same key are the same request.

    started_at    time of the first request, on the Clock
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
    """State of a requested step."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The state is not known. No server is at fault, and the mover sends the same request again."""
    NOT_ASKED = "not_asked"
    """There was no time for the request. The mover sends it again on the next tick, before requests that were handled.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The state of one request.

    message       why the step failed, or why its state is not known
    ask_again_s   least seconds until the next request; None: the mover decides
    poll_s        usual seconds until the next request, if ask_again_s is None; None: the next tick
    call          result of the call, one of a few words for metrics; None: there was no call
    """

    state: StepState
    message: str | None = None
    ask_again_s: float | None = None
    poll_s: float | None = None
    call: str | None = None


@runtime_checkable
class Actuator(Protocol):
    """Carries out steps, any number at a time.

    The mover asks again on every tick until a step is done or failed, and possibly once more. The actuator answers by
    key. A higher attempt at a step replaces the lower ones. A step of a newer move of a server ends all its older
    moves. The step ABORT does nothing else. Once it is done, no step of an older move can happen any more. `perform`
    must return soon: the work continues elsewhere.
    """

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """Begin the steps in `steps` that are new. Return the state of each step, in the order of `steps`.

        An actuator may leave the last steps for the next tick, as NOT_ASKED. Steps come in order of their waiting time,
        longest first. Raises ActuatorUnavailable if no state is known; then no step counts as failed.
        """


class ActuatorUnavailable(Exception):
    """The actuator cannot be reached. No server is at fault."""
