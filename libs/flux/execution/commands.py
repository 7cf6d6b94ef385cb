"""Answer commands: one total table of what each command does in each state. Pure.

Every pair of a state and a command has an answer: the next state, or a refusal with a reason and what to do. The page
and the API offer what `possible` returns, so that they never offer what cannot work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from libs.domain.action_approval import DECISIONS
from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ActionState as A
from libs.domain.plan_execution import ExecutionState as E
from libs.domain.plan_execution import Verb
from libs.flux.execution.freezes import FrozenPlan

RESIZES = frozenset({Phase.UPSIZE, Phase.DOWNSIZE, Phase.GROW})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command cannot work now. `code` is an identifier that clients may match."""

    code: str
    message: str


ENDED = Refusal("Ended", "the execution has ended: start one from the target plan")
ENDS = Refusal("Ends", "the execution is coming to its end: wait until the running actions have finished")
NOT_STARTED = Refusal("NotStarted", "the execution has not started: start it first")
STARTED = Refusal("Started", "the execution has started already")
PAUSED = Refusal("Paused", "it is paused already")
NOT_PAUSED = Refusal("NotPaused", "it is not paused")
LEVEL = Refusal("NotForAPlan", "the command is about actions: name the phase or the action")
PLAN_ONLY = Refusal("ForAPlanOnly", "the command is about the whole execution; to leave one action out, skip it")
FINAL = Refusal("Final", "the action is done or skipped: the next plan may change it")
IN_FLIGHT = Refusal("InFlight", "a system is at work on the action: pause it, and ask again when that has ended")
NOT_AWAITING = Refusal("NotAwaitingApproval", "the action does not wait for an approval")
NEEDS_APPROVAL = Refusal("AwaitingApproval", "the action waits for an approval: approve or reject it")
NOTHING_FAILED = Refusal("NothingFailed", "nothing of the action has failed")
NOT_HELD = Refusal("NotHeld", "no gate holds the action")
NOT_TAKEN_OVER = Refusal("NotTakenOver", "nobody has taken the action over: take it over first")
BY_HAND = Refusal("ByHand", "a person does the action by hand: resume gives it back, complete ends it")
NOTHING_DONE = Refusal("NothingDone", "nothing of the action was done, so there is nothing to take back")
BEGUN = Refusal("Begun", "the action has begun: its size is fixed")
NOT_A_SHIFT = Refusal("NotAShift", "only a shift is taken back alone: reverse the execution to take back resizes")
WAITS = Refusal("Waits", "actions that it needs are not done: complete or skip those first")
FROZEN = Refusal("Frozen", "a freeze holds it: wait until it ends, or give override_freeze with a reason")
NOT_FROZEN = Refusal("NotFrozen", "no freeze holds it")
NOT_A_RESIZE = Refusal("NotAResize", "only a resize has a size")
EMPTY = Refusal("Empty", "the execution has no such action")

Answer = E | Refusal
ActionAnswer = A | Refusal

_PLAN_VERBS = (
    *(Verb.START, Verb.PAUSE, Verb.RESUME, Verb.ABORT, Verb.REVERSE, Verb.SUPERSEDE),
    Verb.OVERRIDE_FREEZE,
)
_EXECUTIONS: Mapping[E, tuple[Answer, ...]] = {
    #           START      PAUSE        RESUME       ABORT        REVERSE      SUPERSEDE      OVERRIDE_FREEZE
    E.DRAFT: (E.RUNNING, NOT_STARTED, NOT_STARTED, E.ABORTED, NOT_STARTED, E.SUPERSEDED, E.DRAFT),
    E.RUNNING: (STARTED, E.PAUSING, NOT_PAUSED, E.ABORTING, E.REVERSING, E.SUPERSEDING, E.RUNNING),
    E.PAUSING: (STARTED, PAUSED, E.RUNNING, E.ABORTING, E.REVERSING, E.SUPERSEDING, E.PAUSING),
    E.PAUSED: (STARTED, PAUSED, E.RUNNING, E.ABORTING, E.REVERSING, E.SUPERSEDING, E.PAUSED),
    E.ABORTING: (ENDS, ENDS, ENDS, ENDS, E.REVERSING, E.SUPERSEDING, E.ABORTING),
    E.REVERSING: (ENDS, ENDS, ENDS, E.ABORTING, ENDS, E.SUPERSEDING, E.REVERSING),
    E.SUPERSEDING: (ENDS,) * 7,
    **dict.fromkeys((E.DONE, E.REVERSED, E.ABORTED, E.SUPERSEDED), (ENDED,) * 7),
}

_ACTION_VERBS = (
    Verb.TAKE_OVER,
    Verb.COMPLETE,
    Verb.RETRY,
    Verb.SKIP,
    Verb.APPROVE,
    Verb.REJECT,
    Verb.EDIT,
    Verb.OVERRIDE,
    Verb.REVERSE,
)
_FINAL = (FINAL,) * len(_ACTION_VERBS)
_ACTIONS: Mapping[A, tuple[ActionAnswer, ...]] = {
    #  TAKE_OVER, COMPLETE, RETRY, SKIP, APPROVE, REJECT, EDIT, OVERRIDE, REVERSE
    A.AWAITING_APPROVAL: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, NEEDS_APPROVAL, A.SKIPPED, A.WAITING, A.SKIPPED),
        *(A.AWAITING_APPROVAL, NEEDS_APPROVAL, NOTHING_DONE),
    ),
    A.WAITING: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, NOTHING_FAILED, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(A.WAITING, NOT_HELD, NOTHING_DONE),
    ),
    A.RUNNING: (
        *(IN_FLIGHT, NOT_TAKEN_OVER, NOTHING_FAILED, IN_FLIGHT, NOT_AWAITING, NOT_AWAITING),
        *(BEGUN, NOT_HELD, A.REVERSING),
    ),
    A.BAKING: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, NOTHING_FAILED, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(BEGUN, NOT_HELD, A.REVERSING),
    ),
    A.HELD: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, A.BAKING, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(A.HELD, A.BAKING, A.REVERSING),
    ),
    A.REVERSING: (
        *(IN_FLIGHT, NOT_TAKEN_OVER, IN_FLIGHT, IN_FLIGHT, NOT_AWAITING, NOT_AWAITING),
        *(BEGUN, NOT_HELD, IN_FLIGHT),
    ),
    A.FAILED: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, A.BAKING, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(A.FAILED, NOT_HELD, A.REVERSING),
    ),
    A.REVERSED: (
        *(A.TAKEN_OVER, NOT_TAKEN_OVER, A.WAITING, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(NOT_A_RESIZE, NOT_HELD, NOTHING_DONE),
    ),
    A.TAKEN_OVER: (
        *(BY_HAND, A.DONE, BY_HAND, A.SKIPPED, NOT_AWAITING, NOT_AWAITING),
        *(BY_HAND, NOT_HELD, BY_HAND),
    ),
    A.DONE: _FINAL,
    A.SKIPPED: _FINAL,
}
_THAWED = FrozenPlan()
_ANSWERS = {(state, verb): a for state, row in _ACTIONS.items() for verb, a in zip(_ACTION_VERBS, row, strict=True)}
_PLAN_ANSWERS = {
    (state, verb): a for state, row in _EXECUTIONS.items() for verb, a in zip(_PLAN_VERBS, row, strict=True)
}
_TAKES_COMMANDS = frozenset({E.DRAFT, E.RUNNING, E.PAUSING, E.PAUSED})
_BEFORE_THE_START = frozenset({Verb.APPROVE, Verb.REJECT, Verb.EDIT, Verb.SKIP})


def answer_execution(state: E, verb: Verb, frozen: FrozenPlan = _THAWED) -> Answer:
    """Return the next state of an execution for a command about the whole plan, or why it cannot work."""
    answer = _PLAN_ANSWERS.get((state, verb), LEVEL)
    if isinstance(answer, Refusal):
        return answer
    if verb is Verb.OVERRIDE_FREEZE:
        return answer if frozen.holds else NOT_FROZEN
    refused = (verb in (Verb.START, Verb.RESUME) and frozen.begins) or (verb is Verb.REVERSE and frozen.goes_back)
    return FROZEN if refused else answer


def answer_action(
    execution: E, state: A, verb: Verb, *, phase: Phase, paused: bool, begun: bool, waits: bool, frozen: bool = False
) -> ActionAnswer:
    """Return the next state of an action, or why the command cannot work. PAUSE and RESUME keep the state.

    phase   of the action
    paused  True: a person has paused the action
    begun   True: part of the action was asked for or done, so its size is fixed
    waits   True: actions that it needs are not done, so it cannot be complete
    frozen  True: a freeze holds it, so nothing may make it begin or go on
    """
    if execution not in _TAKES_COMMANDS:
        return ENDED if execution in (E.DONE, E.REVERSED, E.ABORTED, E.SUPERSEDED) else ENDS
    if verb in (Verb.START, Verb.ABORT, Verb.SUPERSEDE):
        return PLAN_ONLY
    if state in (A.DONE, A.SKIPPED):
        return FINAL
    if verb is Verb.PAUSE:
        return BY_HAND if state is A.TAKEN_OVER else PAUSED if paused else state
    if verb is Verb.RESUME:
        if state is A.TAKEN_OVER:
            return NOT_STARTED if execution is E.DRAFT else A.HELD if begun else A.WAITING
        return NOT_PAUSED if not paused else FROZEN if frozen else state
    if verb is Verb.OVERRIDE_FREEZE:
        return state if frozen else NOT_FROZEN
    if execution is E.DRAFT and verb not in _BEFORE_THE_START:
        return NOT_STARTED
    if verb is Verb.REVERSE and phase is not Phase.SHIFT:
        return NOT_A_SHIFT
    if verb is Verb.EDIT and (phase not in RESIZES or begun):
        return NOT_A_RESIZE if phase not in RESIZES else BEGUN
    if verb is Verb.REVERSE and not begun:
        return NOTHING_DONE
    if verb is Verb.COMPLETE and state is A.TAKEN_OVER and waits:
        return WAITS
    answer = _ANSWERS[state, verb]
    if frozen and verb in (Verb.RETRY, Verb.OVERRIDE) and isinstance(answer, A):
        return FROZEN
    return A.WAITING if answer is A.BAKING and (phase is not Phase.SHIFT or not begun) else answer


def possible_decisions(execution: E) -> tuple[Verb, ...]:
    """Return the decisions about a resize that waits for approval which would be accepted now."""
    possible = possible_action_verbs(
        execution, A.AWAITING_APPROVAL, phase=Phase.UPSIZE, paused=False, begun=False, waits=True
    )
    return tuple(verb for verb in DECISIONS if verb in possible)


def possible_verbs(execution: E, frozen: FrozenPlan = _THAWED) -> tuple[Verb, ...]:
    """Return the commands about the whole plan that would be accepted now."""
    return tuple(verb for verb in _PLAN_VERBS if isinstance(answer_execution(execution, verb, frozen), E))


def possible_action_verbs(
    execution: E, state: A, *, phase: Phase, paused: bool, begun: bool, waits: bool, frozen: bool = False
) -> tuple[Verb, ...]:
    """Return the commands about an action that would be accepted now."""
    found = []
    for verb in Verb:
        answer = answer_action(
            execution, state, verb, phase=phase, paused=paused, begun=begun, waits=waits, frozen=frozen
        )
        if isinstance(answer, A):
            found.append(verb)
    return tuple(found)
