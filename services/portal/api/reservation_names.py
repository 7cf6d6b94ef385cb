"""`/v1/reservation-names`: live reservations with their owners and capacity, to choose from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.reservation import ReservationKind
from libs.store.capacity.reservations import list_reservation_names
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import PageOf, ResponseModel, SomeName
from services.portal.submit_requests import require_region

router = APIRouter(prefix="/v1/reservation-names", tags=["reservations"])
_NOUN = "reservation-names"


class ReservationNameOut(ResponseModel):
    """A live reservation, without what it holds."""

    reservation_id: int
    name: str
    owner: str
    capacity_rru: float = Field(description="RRU asked for, granted or not")


@router.get("", operation_id="list_reservation_names")
def get_reservation_names(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName, Query(description="Of this region")],
    kind: Annotated[ReservationKind | None, Query(description="Of this kind only")] = None,
) -> PageOf[ReservationNameOut]:
    """List live reservations in the order of their creation. It reads no server, so it is quicker than the list of
    reservations.
    """
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        require_region(tx, region, location="query")
        page = list_reservation_names(tx, region, kind=kind, after=after, limit=paging.limit)
    items = [ReservationNameOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))
