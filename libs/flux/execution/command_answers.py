"""Tell in advance how each command about an execution would be answered. Pure.

It asks the table of `commands.py`, as `apply_command` does. So pages and other clients hold no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Ints
from libs.domain.execution_progress import PHASES, STATES, ExecutionGraph, Progress
from libs.domain.freeze import Calendar
from libs.domain.plan_execution import CommandLevel, ExecutionState, Verb
from libs.flux.execution.apply import FOR_ONE_ACTION, ONE_ACTION, positions_of
from libs.flux.execution.commands import EMPTY, Refusal, answer_action, answer_execution
from libs.flux.execution.freezes import Frozen, frozen_actions
from libs.flux.execution.next_steps import unmet


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldAnswer:
    """The answer that a command would get now.

    refusal   why it cannot work; None: it would be accepted
    actions   number of actions that accept it; 0 for a command about the whole plan
    others    number of further actions that would accept it from another person
    """

    verb: Verb
    refusal: Refusal | None
    actions: int = 0
    others: int = 0


def foretell_answers(
    graph: ExecutionGraph,
    state: ExecutionState,
    progress: Progress,
    level: CommandLevel,
    subject: str,
    now_s: float,
    calendar: Calendar,
) -> tuple[ForetoldAnswer, ...]:
    """Return the answer of each verb. The size of an edit is not judged. Raises KeyError for an unknown subject."""
    frozen = frozen_actions(graph, progress, calendar, now_s)
    if level is CommandLevel.PLAN:
        return tuple(
            ForetoldAnswer(verb=verb, refusal=answer if isinstance(answer, Refusal) else None)
            for verb in Verb
            for answer in [answer_execution(state, verb, frozen.plan)]
        )
    positions = np.array(positions_of(graph, level, subject), int)
    return tuple(_of_actions(graph, state, progress, frozen, positions, level))


def _of_actions(
    graph: ExecutionGraph,
    state: ExecutionState,
    progress: Progress,
    frozen: Frozen,
    positions: Ints,
    level: CommandLevel,
) -> Iterator[ForetoldAnswer]:
    begun = (progress.asked > 0) | (progress.reached > 0)
    waits = unmet(graph, progress) > 0
    columns = (progress.state, graph.phase, progress.paused, begun, waits, frozen.held)
    situations = np.stack([column[positions].astype(np.int64) for column in columns], axis=1)
    # Few situations differ, however many actions there are. They stay in the order of their first action.
    kinds, first, counts = np.unique(situations, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    for verb in Verb:
        if level is CommandLevel.PHASE and verb in ONE_ACTION:
            yield ForetoldAnswer(verb=verb, refusal=FOR_ONE_ACTION[verb])
            continue
        accepted, refusal = 0, None
        for row in order.tolist():
            of, phase, paused, is_begun, is_waiting, is_frozen = kinds[row].tolist()
            answer = answer_action(
                *(state, STATES[of], verb),
                phase=PHASES[phase],
                paused=bool(paused),
                begun=bool(is_begun),
                waits=bool(is_waiting),
                frozen=bool(is_frozen),
            )
            if isinstance(answer, Refusal):
                refusal = refusal or answer
            else:
                accepted += int(counts[row])
        yield ForetoldAnswer(verb=verb, refusal=None if accepted else refusal or EMPTY, actions=accepted)
