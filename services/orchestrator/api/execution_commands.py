"""`/v1/plan-executions/{id}/commands`: pause, resume, abort, reverse, approve, and what else people may do."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query, Response
from pydantic import ConfigDict, Field, model_validator

from libs.domain.plan_execution import (
    DECIDES_ON_SIZES,
    Command,
    CommandLevel,
    ExecutionState,
    RecordedCommand,
    RejectKind,
    Verb,
)
from libs.domain.principal import Role
from libs.executions.foretold_four_eyes import with_four_eyes
from libs.executions.give_command import give_or_refuse
from libs.executions.graphs import load_graph, load_seen_progress
from libs.flux.execution.apply import positions_of
from libs.flux.execution.command_answers import foretell_answers
from libs.reconcile.errors import StaleGeneration
from libs.store.executions.approvals import load_sizes_generation
from libs.store.executions.commands import list_commands
from libs.store.executions.executions import load_execution
from libs.store.executions.freezes import load_calendar
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.execution_commands import give_once
from libs.web.generations import GivenGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Number, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem, invalid
from libs.web.reasons import GivenReason
from services.orchestrator.api.plan_executions import ExecutionId

router = APIRouter(prefix="/v1/plan-executions", tags=["plan executions"])
_NOUN = "execution-commands"
_EXAMPLE: dict[str, Any] = {"verb": "pause", "reason": "a launch in the east today"}


class ExecutionCommandIn(RequestModel):
    """A command about the whole execution, a phase, or an action."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    verb: Verb
    level: CommandLevel = CommandLevel.PLAN
    subject: SomeName | None = Field(default=None, description="The phase, or the id of the action")
    size: Annotated[Number, Field(ge=0, le=1e15)] | None = Field(
        default=None, description="For edit: the new size, in units of the hardware type"
    )
    reason: GivenReason
    reject_kind: RejectKind | None = Field(default=None, description="For reject and edit: the kind of the reason")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.level is CommandLevel.PLAN) != (self.subject is None):
            raise ValueError("name the phase or the action in subject; a command about the plan has none")
        if (self.verb is Verb.EDIT) != (self.size is not None):
            raise ValueError("edit needs a size, and no other command has one")
        return self


class ExecutionCommandOut(ResponseModel):
    """An accepted command, and the state of the execution after it."""

    verb: Verb
    level: CommandLevel
    subject: str
    state: ExecutionState
    changed: int = Field(description="Number of actions that it changed")


class CommandAnswerOut(ResponseModel):
    """The answer that a command would get now."""

    verb: Verb
    possible: bool
    code: str | None = Field(description="Why it would be refused: an identifier to match on; null: it is possible")
    message: str | None = Field(description="For people: why it would be refused, and what to do")
    actions: int = Field(description="Number of actions that would accept it; 0 for the whole execution")
    others: int = Field(
        description="Number of further actions that would accept it from another person, where their regions demand "
        "four eyes"
    )


class CommandAnswersOut(ResponseModel):
    """The answers that all commands would get now."""

    generation: int = Field(
        description="Send it as If-Match with approve and take_over. It rises when an approval of the subject is "
        "decided, or its size is edited"
    )
    items: list[CommandAnswerOut]


class RecordedCommandOut(ResponseModel):
    """A command with its outcome."""

    execution_command_id: int
    verb: Verb
    level: CommandLevel
    subject: str
    size: float | None
    reason: str | None
    reject_kind: RejectKind | None
    actor: str
    given_at: datetime
    accepted: bool
    code: str | None = Field(description="Why it was refused: an identifier")
    message: str | None
    changed: int


@router.post(
    "/{plan_execution_id}/commands",
    operation_id="give_execution_command",
    response_model=ExecutionCommandOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_command(
    plan_execution_id: ExecutionId,
    body: ExecutionCommandIn,
    expected: GivenGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Give a command. It is answered at once: it has taken effect, or 409 says why it cannot, and what to do. Both are
    recorded.

    `approve` and `take_over` belong to the sizes that were read. With If-Match and the generation of the
    command-answers of their subject, they get 409 if a size was edited since. /v1/approvals always demands it.
    """
    command = Command(level=body.level, verb=body.verb, subject=body.subject or "", size=body.size)
    asked = RecordedCommand(
        command=command,
        actor=principal.name,
        given_at=context.clock.now(),
        reason=body.reason,
        reject_kind=body.reject_kind,
    )

    def effect(tx: Transaction) -> Answer:
        try:
            if expected is not None and body.verb in DECIDES_ON_SIZES:
                _require_sizes(tx, plan_execution_id, command, expected)
            given = give_or_refuse(tx, plan_execution_id, asked, now=context.clock.now())
        except KeyError as error:
            raise _unknown(body.level, body.subject, "body") from error
        out = ExecutionCommandOut(
            verb=command.verb,
            level=command.level,
            subject=command.subject,
            state=given.execution.state,
            changed=given.record.changed,
        )
        return Answer(200, out, etag(given.execution.generation))

    return give_once(write, effect)


@router.get(
    "/{plan_execution_id}/command-answers", operation_id="list_execution_command_answers", responses=problems(404)
)
def get_answers(
    plan_execution_id: ExecutionId,
    context: Context,
    principal: Asking,
    level: Annotated[CommandLevel, Query(description="About the whole execution, a phase, or an action")] = (
        CommandLevel.PLAN
    ),
    subject: Annotated[SomeName | None, Query(description="The phase, or the id of the action")] = None,
) -> CommandAnswersOut:
    """List the answer that each command of yours would get now. The command itself also judges a new size, and the
    places of other executions, which `start` needs.
    """
    if (level is CommandLevel.PLAN) != (subject is None):
        message = "name the phase or the action; level plan has no subject"
        raise invalid(FieldError(field="subject", location="query", code="invalid", message=message))
    now = context.clock.now()
    with context.database.snapshot() as tx:
        execution = load_execution(tx, plan_execution_id)
        graph, progress = load_graph(tx, plan_execution_id), load_seen_progress(tx, execution)
        calendar = load_calendar(tx, plan_execution_id, now)
        told, now_s = subject or "", now.timestamp()
        try:
            generation = _sizes_generation(tx, plan_execution_id, level, told)
            foretold = foretell_answers(graph, execution.state, progress, level, told, now_s, calendar)
        except KeyError as error:
            raise _unknown(level, subject, "query") from error
        found = with_four_eyes(
            *(tx, execution, graph, progress, calendar, foretold),
            level=level,
            subject=told,
            actor=principal.name,
            now_s=now_s,
        )
    items = [
        CommandAnswerOut(
            verb=one.verb,
            possible=one.refusal is None,
            code=None if one.refusal is None else one.refusal.code,
            message=None if one.refusal is None else one.refusal.message,
            actions=one.actions,
            others=one.others,
        )
        for one in found
    ]
    return CommandAnswersOut(generation=generation, items=items)


@router.get("/{plan_execution_id}/commands", operation_id="list_execution_commands", responses=problems(404))
def get_commands(plan_execution_id: ExecutionId, context: Context, paging: Paging) -> PageOf[RecordedCommandOut]:
    """List the commands about an execution with their outcomes, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        load_execution(tx, plan_execution_id)
        page = list_commands(tx, plan_execution_id, before=before, limit=paging.limit)
    return PageOf(items=[_out(*one) for one in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


def _require_sizes(tx: Transaction, plan_execution_id: int, command: Command, expected: int) -> None:
    """Lock the execution, and check that the sizes are those that were read. Raises KeyError, StaleGeneration."""
    load_execution(tx, plan_execution_id, lock=True)
    found = _sizes_generation(tx, plan_execution_id, command.level, command.subject)
    if found != expected:
        noun = "approvals of plan execution"
        raise StaleGeneration(noun, plan_execution_id, expected=expected, found=found)


def _sizes_generation(tx: Transaction, plan_execution_id: int, level: CommandLevel, subject: str) -> int:
    """Return the generation of the approvals that a command is about. Raises KeyError for an unknown subject."""
    graph = load_graph(tx, plan_execution_id)
    every = level is CommandLevel.PLAN
    positions = [*range(len(graph.actions))] if every else positions_of(graph, level, subject)
    return load_sizes_generation(tx, plan_execution_id, positions)


def _unknown(level: CommandLevel, subject: str | None, location: str) -> Problem:
    message = f"the execution has no {level} {subject}"
    return invalid(FieldError(field="subject", location=location, code="unknown_name", message=message))


def _out(command_id: int, one: RecordedCommand) -> RecordedCommandOut:
    told = ("reason", "reject_kind", "actor", "given_at", "code", "message", "changed")
    command = one.command
    return RecordedCommandOut(
        execution_command_id=command_id,
        verb=command.verb,
        level=command.level,
        subject=command.subject,
        size=command.size,
        accepted=one.code is None,
        **{name: getattr(one, name) for name in told},
    )
