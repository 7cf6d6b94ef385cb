"""`/v1/regions/{region}/move-counts`: the running moves of a region by way and step."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from libs.domain.move import MoveStep
from libs.store.moves.move_counts import count_moves
from libs.web.context import Context
from libs.web.model import ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/regions", tags=["moves"])


class MoveCountsOut(ResponseModel):
    """Running moves from one reservation to another at one step."""

    from_reservation: str | None = Field(description="null: the servers had no reservation")
    to_reservation: str | None = Field(description="null: the servers become free")
    step: MoveStep
    is_spare: bool = Field(description="Whether the servers are lent, for the time of an exchange")
    moves: int
    waiting: int = Field(
        description="Of them, those whose server may not leave its reservation yet: /v1/waits says why"
    )
    urgent: int = Field(description="Of them, those that an operator marked as urgent")
    failing: int = Field(description="Of them, those whose step is tried again, or whose system does not answer")
    since: datetime = Field(description="Begin of the oldest of them")


class RegionMoveCountsOut(ResponseModel):
    """The counts of a region, the largest first."""

    region: str
    items: list[MoveCountsOut]


@router.get("/{region}/move-counts", operation_id="count_moves", responses=problems(404))
def get_move_counts(
    region: Annotated[SomeName, Path(description="Name of the region")], context: Context
) -> RegionMoveCountsOut:
    """Count the running moves of a region by the reservations that they leave and join, and by step."""
    with context.database.snapshot() as tx:
        found = count_moves(tx, region)
    return RegionMoveCountsOut(region=region, items=[MoveCountsOut.model_validate(one) for one in found])
