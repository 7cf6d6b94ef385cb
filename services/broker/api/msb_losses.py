"""`/v1/regions/{region}/msb-losses`: for each MSB, who would be short if it went now."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.ras.loss_outlook import foresee_losses
from libs.store.capacity.loss_ground import load_loss_ground
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.broker.api.domain_losses import NAMED_MAX, LossOut, ShortOut, figures_of
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])


class ShortAfterLossOut(ShortOut):
    """A reservation that would hold less than its promise."""

    survives_msb_loss: bool = Field(
        validation_alias="survives", description="Whether it asks to survive the loss of an MSB"
    )


class MsbLossOut(LossOut):
    """The effect of the loss of one MSB, before a solve or a move could help."""

    datacenter: str
    msb: str
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
        int, Query(ge=0, le=NAMED_MAX, description="Largest number of reservations to name for each MSB")
    ] = NAMED_MAX,
) -> MsbLossesOut:
    """Tell for each MSB which reservations would hold less than their promise if it went now.

    A request that waits is promised only as far as it was granted. `domain-losses` tells the same of every kind of
    domain.
    """
    with context.database.snapshot() as tx:
        ground = load_loss_ground(tx, region)
    items = [{**figures_of(one, MsbLossOut, named_max), "msb": one.domain} for one in foresee_losses(ground)]
    return MsbLossesOut(region=region, items=[MsbLossOut.model_validate(one) for one in items])
