"""`/v1/regions/{region}/history`: what a region asked for, was granted and held, and the moves of each day."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.store.regions.region_history import PERIODS, load_region_history
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_DAYS_MAX = 90


class HeldPeriodOut(ResponseModel):
    """A period with figures of the guaranteed reservations together. A period lasts until the next one begins."""

    begins_at: dt.datetime
    capacity_rru: float | None = Field(
        description="RRU asked for, granted or not, at the end of the period; null: not watched"
    )
    granted_rru: float | None = Field(
        description="RRU of them that were granted, and so promised, at the end of the period; null: not watched, or "
        "an earlier version did not keep it"
    )
    missing_rru: float | None = Field(
        description="The most of the RRU asked for that reservations did not hold at a time of the period; null: not "
        "watched"
    )


class MovesOfDayOut(ResponseModel):
    """The moves of a day in UTC."""

    day: dt.date
    moves: int = Field(description="Moves that began")
    preemptions: int = Field(description="Servers in use that left at the cost of the churn budget")


class RegionHistoryOut(ResponseModel):
    """The past of a region."""

    region: str
    begins_at: dt.datetime = Field(description="Begin of the first period")
    ends_at: dt.datetime = Field(description="When the platform last looked at what reservations hold")
    periods: list[HeldPeriodOut] = Field(
        description=f"{PERIODS} periods of equal length, oldest first; empty: the platform has not looked yet"
    )
    days: list[MovesOfDayOut] = Field(description="Oldest first; the last is today")


@router.get("/{region}/history", operation_id="get_region_history", responses=problems(404))
def get_region_history(
    region: RegionName,
    context: Context,
    days: Annotated[int, Query(ge=1, le=_DAYS_MAX, description="The last days, today included")] = 30,
) -> RegionHistoryOut:
    """Tell what reservations asked for and lacked, and how many servers moved each day."""
    with context.database.snapshot() as tx:
        found = load_region_history(tx, region, days=days, now=context.clock.now())
    values = {name: getattr(found, name) for name in RegionHistoryOut.model_fields if name != "region"}
    return RegionHistoryOut.model_validate({"region": region, **values})
