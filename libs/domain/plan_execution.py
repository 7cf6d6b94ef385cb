"""The execution of a plan: its state, the states of its actions, and the commands that people give."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from libs.domain.gate import Gate


class ExecutionState(StrEnum):
    """State of an execution. DONE, REVERSED, ABORTED and SUPERSEDED are final."""

    DRAFT = "draft"
    RUNNING = "running"
    PAUSING = "pausing"
    """No action begins. Those that run come to their end, and then it is PAUSED."""
    PAUSED = "paused"
    ABORTING = "aborting"
    """No action begins. Those that run come to their end, and then it is ABORTED: the rest stays as it is."""
    REVERSING = "reversing"
    """No action begins. Those that run come to their end, and then it is REVERSED."""
    SUPERSEDING = "superseding"
    """No action begins. Those that run come to their end. Then the execution of a newer plan takes over."""
    DONE = "done"
    REVERSED = "reversed"
    """Another execution takes back what was done, and holds the places of this one."""
    ABORTED = "aborted"
    SUPERSEDED = "superseded"


FINAL = frozenset({ExecutionState.DONE, ExecutionState.REVERSED, ExecutionState.ABORTED, ExecutionState.SUPERSEDED})


class ActionState(StrEnum):
    """State of an action. DONE and SKIPPED are final. HELD, FAILED, REVERSED and TAKEN_OVER wait for a person, but
    HELD goes on when its gates turn good.

    A waiting action may be ready or not: `waits_of` in libs/flux/execution tells what it waits for.
    """

    AWAITING_APPROVAL = "awaiting_approval"
    WAITING = "waiting"
    RUNNING = "running"
    """The system that carries it out was asked, and has not finished."""
    BAKING = "baking"
    """A fraction of a shift is reached. The shift goes on after the bake time if the gates are good."""
    HELD = "held"
    REVERSING = "reversing"
    """The traffic of a shift goes back."""
    FAILED = "failed"
    REVERSED = "reversed"
    TAKEN_OVER = "taken_over"
    """A person does it by hand."""
    DONE = "done"
    SKIPPED = "skipped"


IN_FLIGHT = frozenset({ActionState.RUNNING, ActionState.REVERSING})
"""States in which another system is at work."""
SETTLED = frozenset({ActionState.DONE, ActionState.SKIPPED})
"""Final states of an action."""


class CommandLevel(StrEnum):
    """Subject of a command."""

    PLAN = "plan"
    PHASE = "phase"
    ACTION = "action"


class Verb(StrEnum):
    """Wish of a command."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    """Stop, and leave everything as it is."""
    REVERSE = "reverse"
    """Take back what was done; of one shift, bring its traffic back."""
    SUPERSEDE = "supersede"
    """End, because the execution of a newer plan takes over the places."""
    TAKE_OVER = "take_over"
    COMPLETE = "complete"
    """An action that a person took over is done."""
    RETRY = "retry"
    SKIP = "skip"
    """Do not do the action, nor those that need it."""
    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    """Change the size that a resize leads to."""
    OVERRIDE = "override"
    """Go on in spite of the present verdict of the gates of an action."""
    OVERRIDE_FREEZE = "override_freeze"
    """Begin in spite of the freezes that hold it now."""


DECIDES_ON_SIZES = frozenset({Verb.APPROVE, Verb.TAKE_OVER})
"""Commands that belong to the sizes that their giver has read."""


class RejectKind(StrEnum):
    """Why a person rejected an action or changed its size."""

    TOO_SMALL = "too_small"
    NOT_TO_BE_REBALANCED = "not_to_be_rebalanced"
    TOO_LITTLE_HEADROOM = "too_little_headroom"
    DEPRECATED = "deprecated"
    BAD_ESTIMATE = "bad_estimate"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a person about an execution.

    subject   the name of a phase or of an action; "" for the plan
    size      of EDIT: the new size, in units of the hardware type
    """

    level: CommandLevel
    verb: Verb
    subject: str = ""
    size: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The rules of one execution. They do not change once it exists.

    fractions        of a shift, ascending; the last one is 1
    bake_s           least seconds at each fraction
    downsize_bake_s  least seconds between the last shift that a downsize waits for, and the downsize
    action_s_max     seconds; the outcome of a longer attempt is unknown, and the next attempt begins
    attempts_max     attempts at one step of an action; then it has failed
    retry_s          seconds until the second attempt; doubles with each further one, up to an hour
    in_flight_max    actions that run at a time; it bounds the work of a tick, and the load on other systems
    gates            what must be good before a shift goes on and before a downsize
    """

    fractions: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    bake_s: float = 900.0
    downsize_bake_s: float = 3600.0
    action_s_max: float = 86_400.0
    attempts_max: int = 3
    retry_s: float = 60.0
    in_flight_max: int = 500
    gates: tuple[Gate, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution:
    """A stored execution, without its actions.

    reverses_execution_id   the execution that it takes back; None: it carries out the plan itself
    """

    plan_execution_id: int
    placement_plan_id: int
    reverses_execution_id: int | None
    state: ExecutionState
    terms: Terms
    reason: str
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommand:
    """A command with its outcome.

    code, message  why it was refused; None: it was accepted
    changed        number of actions that it changed
    """

    command: Command
    actor: str
    given_at: datetime
    reason: str | None = None
    reject_kind: RejectKind | None = None
    code: str | None = None
    message: str | None = None
    changed: int = 0
