"""Apply a command to an execution: the answer, and what it changes. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, PHASES, ActionProgress, ExecutionGraph, Progress
from libs.domain.freeze import NO_FREEZES, Calendar
from libs.domain.plan_execution import IN_FLIGHT, ActionState, Command, CommandLevel, ExecutionState, Verb
from libs.flux.execution.commands import EMPTY, Refusal, answer_action, answer_execution
from libs.flux.execution.freezes import frozen_actions
from libs.flux.execution.next_steps import reversing, unmet

_BY_A_PERSON = frozenset(
    {Verb.TAKE_OVER, Verb.COMPLETE, Verb.RETRY, Verb.APPROVE, Verb.EDIT, Verb.OVERRIDE, Verb.REVERSE}
)
ONE_ACTION = frozenset({Verb.EDIT, Verb.OVERRIDE, Verb.COMPLETE})
"""Commands that are about one action, and not about a phase."""
FOR_ONE_ACTION = {verb: Refusal("ForOneAction", f"{verb} is about one action: name it") for verb in ONE_ACTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """The answer to a command. A refused one changes nothing.

    state      the next state of the execution
    changes    the actions that it changes
    overrides  (freeze, position) that may begin in spite of the freeze from now on; position None: all actions
    """

    state: ExecutionState
    changes: tuple[ActionProgress, ...] = ()
    overrides: tuple[tuple[int, int | None], ...] = ()
    refusal: Refusal | None = None


def apply_command(
    graph: ExecutionGraph,
    state: ExecutionState,
    progress: Progress,
    command: Command,
    now_s: float,
    calendar: Calendar = NO_FREEZES,
) -> CommandAnswer:
    """Return the answer to a command. Raises KeyError if its subject is not in the execution.

    A command about a phase is accepted if at least one of its actions accepts it. The others stay as they are.
    """
    frozen = frozen_actions(graph, progress, calendar, now_s)
    if command.level is CommandLevel.PLAN:
        answer = answer_execution(state, command.verb, frozen.plan)
        if isinstance(answer, Refusal):
            return CommandAnswer(state=state, refusal=answer)
        is_thaw = command.verb is Verb.OVERRIDE_FREEZE
        return CommandAnswer(state=answer, overrides=tuple((one, None) for one in frozen.plan.holds if is_thaw))
    positions = positions_of(graph, command.level, command.subject)
    if command.level is CommandLevel.PHASE and command.verb in ONE_ACTION:
        return CommandAnswer(state=state, refusal=FOR_ONE_ACTION[command.verb])
    changes: list[ActionProgress] = []
    refusal: Refusal | None = None
    waits = unmet(graph, progress) > 0
    for position in positions:
        found = _apply_to(
            *(graph, state, progress.row(position), command, now_s),
            waits=bool(waits[position]),
            frozen=bool(frozen.held[position]),
        )
        if isinstance(found, Refusal):
            refusal = refusal or found
        else:
            changes.append(found)
    if not changes:
        return CommandAnswer(state=state, refusal=refusal or EMPTY)
    starts = state is ExecutionState.PAUSED and any(row.state in IN_FLIGHT for row in changes)
    overrides: list[tuple[int, int | None]] = []
    if command.verb is Verb.OVERRIDE_FREEZE:
        overrides = [(one.freeze_id, row.position) for row in changes for one in frozen.freezes_of(graph, row.position)]
    return CommandAnswer(
        state=ExecutionState.PAUSING if starts else state, changes=tuple(changes), overrides=tuple(overrides)
    )


def positions_of(graph: ExecutionGraph, level: CommandLevel, subject: str) -> list[int]:
    """Return the actions of a phase, or the one with this id. Raises KeyError for an unknown name."""
    if level is CommandLevel.PHASE:
        phase = next((phase for phase in PHASES if phase == subject), None)
        if phase is None:
            raise KeyError(subject)
        return [int(i) for i in np.flatnonzero(graph.phase == PHASE_CODE[phase])]
    found = [i for i, action in enumerate(graph.actions) if action.action == subject]
    if not found:
        raise KeyError(subject)
    return found


def _apply_to(
    graph: ExecutionGraph,
    state: ExecutionState,
    row: ActionProgress,
    command: Command,
    now_s: float,
    *,
    waits: bool,
    frozen: bool,
) -> ActionProgress | Refusal:
    verb, phase = command.verb, graph.actions[row.position].phase
    answer = answer_action(
        state, row.state, verb, phase=phase, paused=row.paused, begun=row.begun, waits=waits, frozen=frozen
    )
    if isinstance(answer, Refusal):
        return answer
    if verb is Verb.PAUSE or (verb is Verb.RESUME and row.state is not ActionState.TAKEN_OVER):
        return replace(row, paused=verb is Verb.PAUSE)
    if verb is Verb.OVERRIDE_FREEZE:
        return replace(row, person=True)
    if verb is Verb.EDIT:
        return _resized(graph, row, command.size, phase)
    row = replace(row, person=row.person or verb in _BY_A_PERSON)
    if answer is ActionState.REVERSING:
        return reversing(row, "asked by a person", now_s)
    if verb is Verb.OVERRIDE:
        row = replace(row, overridden=row.reached)
    if verb is Verb.COMPLETE:
        row = replace(row, reached=1.0, asked=1.0)
    again_s = now_s if verb in (Verb.RETRY, Verb.RESUME) else row.again_s
    return replace(row, state=answer, since_s=now_s, again_s=again_s, tries=0, note=None)


def _resized(graph: ExecutionGraph, row: ActionProgress, size: float | None, phase: Phase) -> ActionProgress | Refusal:
    """Return the action with another size. A downsize may only keep more than planned: its traffic needs the rest."""
    before, after = float(graph.before[row.position]), float(graph.after[row.position])
    if size is None or not math.isfinite(size):
        return Refusal("NoSize", "edit needs a size, in units of the hardware type")
    if phase is Phase.DOWNSIZE and not after <= size < before:
        return Refusal("SizeOutOfBounds", f"size must be at least the planned {after:g} and below {before:g}")
    if phase is not Phase.DOWNSIZE and not before < size:
        return Refusal("SizeOutOfBounds", f"size must be above the present {before:g}; to leave it out, skip it")
    return replace(row, size=size, person=True)
