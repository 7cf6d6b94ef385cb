"""`/v1/moves`: servers on their way, and how every attempt at every step ended."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from libs.domain.move import MoveStatus, MoveStep, StepResult
from libs.store.move_history import list_moves, load_move, load_step_records
from libs.store.regions import load_region
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/moves", tags=["moves"])
_NOUN = "moves"


class MoveOut(ResponseModel):
    """One server's move."""

    move_id: int
    region: str
    server: str
    from_reservation: str | None = Field(description="null: it was bound to none")
    to_reservation: str | None = Field(description="null: it becomes free")
    status: MoveStatus
    reason: str | None = Field(description="Why it was cancelled or failed, for clients to match")
    steps: list[MoveStep]
    step: MoveStep = Field(description="The step under way; of a move that is over, the one it ended at")
    attempt: int = Field(description="Of that step, from 1")
    step_started_at: datetime = Field(description="In the future while a failed attempt is waited out")
    generation: int
    created_at: datetime
    finished_at: datetime | None


class StepRecordOut(ResponseModel):
    """One attempt at one step that is over."""

    step: MoveStep
    attempt: int
    outcome: StepResult
    message: str | None
    started_at: datetime
    finished_at: datetime


class MoveWithHistoryOut(MoveOut):
    """One server's move, and what was done."""

    history: list[StepRecordOut]


@router.get("", operation_id="list_moves", responses=problems(404))
def get_moves(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    server: Annotated[SomeName | None, Query(description="Of the server of this name only")] = None,
    status: Annotated[MoveStatus | None, Query(description="Of this status only")] = None,
) -> PageOf[MoveOut]:
    """Moves in the order in which they started."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            load_region(tx, region)
        page = list_moves(tx, region=region, server=server, status=status, after=after, limit=paging.limit)
    items = [MoveOut.model_validate(move) for move in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{move_id}", operation_id="get_move", responses=problems(404))
def get_move(
    move_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the move")], context: Context
) -> MoveWithHistoryOut:
    """One move with its history."""
    with context.database.snapshot() as tx:
        move, records = load_move(tx, move_id), load_step_records(tx, move_id)
    history = [StepRecordOut.model_validate(record) for record in records]
    return MoveWithHistoryOut(**MoveOut.model_validate(move).model_dump(), history=history)
