"""Answer a command about an execution: at once, under its lock, and with a record of the outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from libs.domain.plan_execution import PlanExecution, RecordedCommand, Verb
from libs.executions.four_eyes import FOUR_EYES, second_person_needed
from libs.executions.graphs import load_graph
from libs.executions.write_execution import write_execution
from libs.flux.execution.apply import apply_command
from libs.store.executions.actions import load_progress
from libs.store.executions.commands import record_command
from libs.store.executions.events import follow_actions
from libs.store.executions.executions import PlaceTaken, load_execution, take_places
from libs.store.executions.freezes import insert_overrides, load_calendar
from libs.store.ledger.changes import RefusedChange
from libs.store.platform import audit
from libs.store.platform.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A command with its outcome, and the execution afterwards."""

    record: RecordedCommand
    execution: PlanExecution


class CommandRefused(Exception):
    """A command cannot work now. `record` says why, and is still to be stored."""

    def __init__(self, plan_execution_id: int, record: RecordedCommand) -> None:
        self.plan_execution_id, self.record = plan_execution_id, record
        super().__init__(record.message)


def give_or_refuse(tx: Transaction, plan_execution_id: int, asked: RecordedCommand, *, now: datetime) -> Given:
    """Apply a command, and record it. Raises NotFound, KeyError if its subject is not in the execution, and
    CommandRefused, so that the transaction of the caller changes nothing.
    """
    try:
        given = give_command(tx, plan_execution_id, asked, now=now)
    except RefusedChange as error:
        message = f"the ledger refuses it: {error}. Skip the action, or reverse the plan"
        raise CommandRefused(plan_execution_id, replace(asked, code="LedgerRefuses", message=message)) from error
    if given.record.code is not None:
        raise CommandRefused(plan_execution_id, given.record)
    return given


def give_command(tx: Transaction, plan_execution_id: int, asked: RecordedCommand, *, now: datetime) -> Given:
    """Apply a command, and record it with its outcome: accepted or refused. A refused one changes nothing else.

    Raises NotFound, and KeyError if its subject is not in the execution.
    """
    execution = load_execution(tx, plan_execution_id, lock=True)
    graph, progress = load_graph(tx, plan_execution_id), load_progress(tx, plan_execution_id)
    calendar = load_calendar(tx, plan_execution_id, now)
    answer = apply_command(graph, execution.state, progress, asked.command, now.timestamp(), calendar)
    refusal = None if answer.refusal is None else (answer.refusal.code, answer.refusal.message)
    alone = second_person_needed(
        *(tx, plan_execution_id, graph, progress), answer.changes, asked.command.verb, asked.actor
    )
    if alone:
        answer = replace(answer, changes=tuple(one for one in answer.changes if one.position not in alone))
        if not answer.changes:
            refusal = (FOUR_EYES, next(iter(alone.values())))
    if refusal is None and asked.command.verb is Verb.START:
        try:
            take_places(tx, plan_execution_id, graph.actions)
        except PlaceTaken as taken:
            refusal = ("PlaceTaken", f"{taken}: supersede that one, and start when it has ended")
    if refusal is not None:
        record = replace(asked, code=refusal[0], message=refusal[1])
        record_command(tx, plan_execution_id, record)
        return Given(record=record, execution=execution)
    write_execution(
        tx, execution, graph, progress, answer.changes, answer.state, actor=asked.actor, now=now, command=asked
    )
    insert_overrides(tx, plan_execution_id, answer.overrides, reason=asked.reason or "", given_by=asked.actor, now=now)
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
