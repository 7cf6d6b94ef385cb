"""`/v1/regions/{region}/replacements`: lost servers that spare ones replaced, and how long that took."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from libs.store.moves.replacement_history import load_replacement_history
from libs.web.context import Context
from libs.web.model import ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/regions", tags=["moves"])
_LATEST_MAX = 200
_HOURS_MAX = 24 * 30


class ReplacementOut(ResponseModel):
    """A lost server, and the spare server that took its place."""

    server: str
    spare: str
    reservation: str
    hardware_type: str
    msb: str = Field(description="MSB of the lost server")
    failed_at: datetime
    drawn_at: datetime = Field(description="When the spare server was chosen")
    joined_at: datetime | None = Field(description="When it joined the reservation; null: it has not")


class ReplacementsOut(ResponseModel):
    """The replacements of some hours."""

    region: str
    since: datetime
    drawn: int
    joined: int = Field(description="Of them, those whose spare server has joined the reservation")
    median_s: float | None = Field(description="Seconds from failure to joining; null: none has joined")
    most_s: float | None = Field(description="The longest of them")
    latest: list[ReplacementOut] = Field(description=f"At most {_LATEST_MAX}, latest first")


@router.get("/{region}/replacements", operation_id="list_replacements", responses=problems(404))
def get_replacements(
    region: Annotated[SomeName, Path(description="Name of the region")],
    context: Context,
    hours: Annotated[int, Query(ge=1, le=_HOURS_MAX, description="Those that were drawn in the last hours")] = 24,
) -> ReplacementsOut:
    """Tell which lost servers were replaced by servers of the shared buffers, and how long it took."""
    since = context.clock.now() - timedelta(hours=hours)
    with context.database.snapshot() as tx:
        found = load_replacement_history(tx, region, since=since, most=_LATEST_MAX)
    values = {name: getattr(found, name) for name in ("drawn", "joined", "median_s", "most_s", "latest")}
    return ReplacementsOut.model_validate({"region": region, "since": since, **values})
