"""`/v1/moves`: moves of servers, and the result of each attempt at each step."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.move import DeadLetter, Move, MoveStatus, MoveStep, StepResult
from libs.domain.principal import Role
from libs.domain.words import as_sentence
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.jobs import MOVE
from libs.store.fleet.regions import load_region
from libs.store.moves.dead_letters import retry_dead_letter
from libs.store.moves.move_history import list_moves, load_move, load_step_records
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.refusals import NotPossible
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.filters import require_known
from libs.web.generations import etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.wait_out import ServerWaitOut
from services.mover.api.movers import WhyIn
from services.mover.settings import MoverSettings
from services.mover.skip_step import skip_step

router = APIRouter(prefix="/v1/moves", tags=["moves"])
_NOUN = "moves"
MoveId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the move")]


class MoveOut(ResponseModel):
    """The move of one server."""

    move_id: int
    region: str
    server: str
    from_reservation: str | None = Field(description="null: the server had no reservation")
    to_reservation: str | None = Field(description="null: the server becomes free")
    status: MoveStatus
    reason: str | None = Field(description="Why it was cancelled or failed, for clients to match")
    steps: list[MoveStep]
    step: MoveStep = Field(description="The current step; for a finished move, its last step")
    attempt: int = Field(description="Attempt at that step, from 1")
    step_started_at: datetime = Field(description="In the future during the back-off after a failed attempt")
    ask_at: datetime | None = Field(description="Earliest time of the next call; null: on the next tick")
    calls_failed: int = Field(description="Calls in a row about this step without an answer")
    note: str | None = Field(description="The actuator's latest message")
    dead_letter: DeadLetter | None = Field(
        description="Set when all attempts failed. open: the server waits for an operator's retry, skip or repair"
    )
    is_spare: bool = Field(
        description="Whether the reservation gets the server for the time of an exchange only, as a spare"
    )
    urgent_reason: str | None = Field(
        description="An operator's reason to let the server leave while only the embedded buffer would lack it; "
        "null: it is not urgent"
    )
    waits: ServerWaitOut | None = Field(
        description="Why the server may not leave its reservation yet; null: the move does not wait"
    )
    generation: int
    created_at: datetime
    finished_at: datetime | None


class StepRecordOut(ResponseModel):
    """One finished attempt at one step."""

    step: MoveStep
    attempt: int
    outcome: StepResult
    message: str | None
    started_at: datetime
    finished_at: datetime


class MoveWithHistoryOut(MoveOut):
    """The move of one server, with its finished attempts."""

    history: list[StepRecordOut]


@router.get("", operation_id="list_moves", responses=problems(404))
def get_moves(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    server: Annotated[SomeName | None, Query(description="Of the server with this name only")] = None,
    status: Annotated[MoveStatus | None, Query(description="Of this status only")] = None,
    dead_letter: Annotated[
        DeadLetter | None, Query(description="Only moves that failed for good, with this state of the failure")
    ] = None,
) -> PageOf[MoveOut]:
    """List moves in the order of their start."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            load_region(tx, region)
        page = list_moves(
            tx,
            region=region,
            server=server,
            status=status,
            dead_letter=dead_letter,
            after=after,
            limit=paging.limit,
        )
        require_known(tx, page.items, region, server=server)
    items = [MoveOut.model_validate(move) for move in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{move_id}", operation_id="get_move", responses=problems(404))
def get_move(move_id: MoveId, context: Context) -> MoveWithHistoryOut:
    """Return one move with its history."""
    with context.database.snapshot() as tx:
        move, records = load_move(tx, move_id), load_step_records(tx, move_id)
    history = [StepRecordOut.model_validate(record) for record in records]
    return MoveWithHistoryOut(**MoveOut.model_validate(move).model_dump(), history=history)


@router.post(
    "/{move_id}/retry",
    operation_id="retry_move",
    response_model=MoveOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_retry(move_id: MoveId, body: WhyIn, write: Write, principal: Asking, context: Context) -> Response:
    """Start a new move for the server of a dead letter, from its present state. End the event about the failure."""

    def effect(tx: Transaction) -> Answer:
        try:
            move = retry_dead_letter(tx, move_id, reason=body.reason, actor=principal.name, now=context.clock.now())
        except NotPossible as closed:
            raise _no_dead_letter(closed) from closed
        return _answer(tx, move)

    return write.once(effect)


@router.post(
    "/{move_id}/skip",
    operation_id="skip_move_step",
    response_model=MoveOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_skip(move_id: MoveId, body: WhyIn, write: Write, principal: Asking, context: Context) -> Response:
    """Record that the failed step of a dead letter was done by hand. The move continues with the next step."""

    def effect(tx: Transaction) -> Answer:
        policy, now = MoverSettings().policy(CallSettings()), context.clock.now()
        try:
            move = skip_step(tx, move_id, policy, reason=body.reason, actor=principal.name, now=now)
        except NotPossible as closed:
            raise _no_dead_letter(closed) from closed
        return _answer(tx, move)

    return write.once(effect)


def _answer(tx: Transaction, move: Move) -> Answer:
    enqueue(tx, MOVE, move.region)
    return Answer(200, MoveOut.model_validate(move), etag(move.generation))


def _no_dead_letter(closed: NotPossible) -> Problem:
    detail = f"{as_sentence(str(closed))} `plimsoll get moves --where dead_letter=open` lists the open ones."
    return Problem(409, "wrong_phase", detail)
