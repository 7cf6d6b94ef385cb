"""`/v1/regions/{region}/msb-losses`: for each MSB, who would be short if it went now."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.msb_outlook import MsbOutlook
from libs.ras.msb_outlook import foresee_msb_losses
from libs.store.capacity.loss_ground import load_loss_ground
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_NAMED_MAX = 50


class ShortAfterLossOut(ResponseModel):
    """A reservation that would hold less than its promise."""

    reservation: str
    owner: str
    survives_msb_loss: bool = Field(description="Whether it asks to survive the loss of an MSB")
    capacity_rru: float = Field(description="RRU that it asks for")
    granted_rru: float = Field(description="RRU of them that were granted: its promise")
    lost_rru: float = Field(description="RRU that it holds in the MSB now")
    missing_now_rru: float = Field(description="RRU that it lacks of its promise already")
    missing_rru: float = Field(description="RRU that it would lack of its promise")


class MsbLossOut(ResponseModel):
    """The effect of the loss of one MSB, before a solve or a move could help."""

    datacenter: str
    msb: str
    servers: int
    down: int = Field(description="Servers that are down already, for an unplanned reason")
    in_use: int = Field(description="Servers that run containers")
    spare: int = Field(description="Servers of shared buffers that are up")
    reservations: int = Field(description="Guaranteed reservations that hold capacity in it")
    reservations_short: int = Field(description="Reservations that would hold less than their promise")
    broken: int = Field(description="Of them, those that ask to survive the loss of an MSB")
    missing_rru: float = Field(description="RRU that the loss adds to what these reservations lack of their promises")
    short: list[ShortAfterLossOut] = Field(description="The first `named_max` of them, most missing RRU first")


class MsbLossesOut(ResponseModel):
    """The outlook for every MSB that has servers."""

    region: str
    items: list[MsbLossOut]


@router.get("/{region}/msb-losses", operation_id="foresee_msb_losses", responses=problems(404))
def get_msb_losses(
    region: RegionName,
    context: Context,
    named_max: Annotated[
        int, Query(ge=0, le=_NAMED_MAX, description="Largest number of reservations to name for each MSB")
    ] = _NAMED_MAX,
) -> MsbLossesOut:
    """Tell for each MSB which reservations would hold less than their promise if it went now.

    A request that waits is promised only as far as it was granted.
    """
    with context.database.snapshot() as tx:
        ground = load_loss_ground(tx, region)
    return MsbLossesOut(region=region, items=[_out(one, named_max) for one in foresee_msb_losses(ground)])


def _out(one: MsbOutlook, named_max: int) -> MsbLossOut:
    values = {name: getattr(one, name, None) for name in MsbLossOut.model_fields}
    return MsbLossOut.model_validate(
        {**values, "reservations_short": len(one.short), "short": [*map(_short, one.short[:named_max])]}
    )


def _short(one: object) -> ShortAfterLossOut:
    return ShortAfterLossOut.model_validate(one)
