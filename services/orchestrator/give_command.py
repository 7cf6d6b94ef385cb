"""Answer a command about an execution: at once, under its lock, and with a record of the outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from libs.domain.plan_execution import PlanExecution, RecordedCommand, Verb
from libs.flux.execution.apply import apply_command
from libs.store.executions.actions import load_progress
from libs.store.executions.commands import record_command
from libs.store.executions.events import follow_actions
from libs.store.executions.executions import PlaceTaken, load_execution, take_places
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from services.orchestrator.graphs import load_graph
from services.orchestrator.write_execution import write_execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A command with its outcome, and the execution afterwards."""

    record: RecordedCommand
    execution: PlanExecution


def give_command(tx: Transaction, plan_execution_id: int, asked: RecordedCommand, *, now: datetime) -> Given:
    """Apply a command, and record it with its outcome: accepted or refused. A refused one changes nothing else.

    Raises NotFound, and KeyError if its subject is not in the execution.
    """
    execution = load_execution(tx, plan_execution_id, lock=True)
    graph, progress = load_graph(tx, plan_execution_id), load_progress(tx, plan_execution_id)
    answer = apply_command(graph, execution.state, progress, asked.command, now.timestamp())
    refusal = None if answer.refusal is None else (answer.refusal.code, answer.refusal.message)
    if refusal is None and asked.command.verb is Verb.START:
        try:
            take_places(tx, plan_execution_id, graph.actions)
        except PlaceTaken as taken:
            refusal = ("PlaceTaken", f"{taken}: supersede that one, and start when it has ended")
    if refusal is not None:
        record = replace(asked, code=refusal[0], message=refusal[1])
        record_command(tx, plan_execution_id, record)
        return Given(record=record, execution=execution)
    write_execution(tx, execution, graph, progress, answer.changes, answer.state, actor=asked.actor, now=now)
    if asked.command.verb is Verb.START:  # approve the events of all actions that need no person
        every = [progress.row(i) for i in range(len(graph.actions))]
        follow_actions(tx, plan_execution_id, graph, every, actor=asked.actor, now=now)
    record = replace(asked, changed=len(answer.changes))
    record_command(tx, plan_execution_id, record)
    audit.append(
        tx,
        actor=asked.actor,
        action=asked.command.verb.value,
        subject_kind="plan_execution",
        subject_id=plan_execution_id,
        now=now,
        after={"subject": asked.command.subject, "size": asked.command.size, "state": answer.state.value},
        reason=asked.reason,
    )
    return Given(record=record, execution=load_execution(tx, plan_execution_id))
