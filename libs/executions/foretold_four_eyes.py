"""Tell in advance which commands another person must give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.freeze import Calendar
from libs.domain.plan_execution import Command, CommandLevel, PlanExecution, Verb
from libs.executions.four_eyes import FOUR_EYES, second_person_needed
from libs.flux.execution.apply import apply_command, positions_of
from libs.flux.execution.command_answers import ForetoldAnswer
from libs.flux.execution.commands import Refusal
from libs.store.platform.database import Transaction

_LETS_GO = frozenset({Verb.APPROVE, Verb.TAKE_OVER, Verb.EDIT})
"""Verbs after which an action may be carried out without a further approval, or with another size."""


def with_four_eyes(
    tx: Transaction,
    execution: PlanExecution,
    graph: ExecutionGraph,
    progress: Progress,
    calendar: Calendar,
    answers: Iterable[ForetoldAnswer],
    *,
    level: CommandLevel,
    subject: str,
    actor: str,
    now_s: float,
) -> list[ForetoldAnswer]:
    """Return the answers that `actor` would get, by the rule that commands obey. An edit is judged with the present
    size.
    """
    if level is CommandLevel.PLAN:
        return list(answers)
    first = positions_of(graph, level, subject)[0]
    found = []
    for one in answers:
        if one.refusal is not None or one.verb not in _LETS_GO:
            found.append(one)
            continue
        size = float(progress.size[first]) if one.verb is Verb.EDIT else None
        command = Command(level=level, subject=subject, verb=one.verb, size=size)
        changes = apply_command(graph, execution.state, progress, command, now_s, calendar).changes
        alone = second_person_needed(tx, execution.plan_execution_id, graph, progress, changes, one.verb, actor)
        if alone and len(alone) == len(changes):
            refusal = Refusal(FOUR_EYES, next(iter(alone.values())))
            found.append(replace(one, refusal=refusal, actions=0, others=len(alone)))
        else:
            found.append(replace(one, actions=one.actions - len(alone), others=len(alone)))
    return found
