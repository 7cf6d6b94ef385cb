"""`/v1/waits`: servers that may not leave their reservations yet, why, and what they wait for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from libs.domain.departure_wait import DepartureWait
from libs.store.capacity.reservations import load_reservation
from libs.store.fleet.departure_waits import list_waits, load_waits
from libs.store.fleet.regions import load_region
from libs.store.platform.refusals import NotFound
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.filters import require_known
from libs.web.model import ID_MAX, PageOf, SomeName
from libs.web.openapi import problems
from libs.web.wait_out import DepartureWaitOut

router = APIRouter(prefix="/v1/waits", tags=["waits"])
_NOUN = "waits"


class WaitOut(DepartureWaitOut):
    """The servers of one reservation of a region that wait to leave it."""

    region: str


@router.get("", operation_id="list_waits", responses=problems(404))
def get_waits(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    reservation: Annotated[SomeName | None, Query(description="Of the live reservation with this name only")] = None,
) -> PageOf[WaitOut]:
    """List the reservations whose servers wait to leave, by id."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            load_region(tx, region)
        page = list_waits(tx, region=region, reservation=reservation, after=after, limit=paging.limit)
        require_known(tx, page.items, region, reservation=reservation)
    items = [_out(region, wait) for region, wait in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{reservation_id}", operation_id="get_wait", responses=problems(404))
def get_wait(
    reservation_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the reservation")], context: Context
) -> WaitOut:
    """Return what the servers of one reservation wait for. 404: none of them waits."""
    with context.database.snapshot() as tx:
        wait = load_waits(tx, [reservation_id]).get(reservation_id)
        if wait is None:
            raise NotFound("wait of a server of reservation", reservation_id)
        return _out(load_reservation(tx, reservation_id).region, wait)


def _out(region: str, wait: DepartureWait) -> WaitOut:
    return WaitOut(**DepartureWaitOut.model_validate(wait).model_dump(), region=region)
