"""`/v1/reservations/{id}/servers`: the list that a container allocator reads."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.unavailability import Unavailability
from libs.store.capacity.reservations import load_reservation
from libs.store.fleet.guests import holder_id
from libs.store.fleet.servers import ServerFilter, list_servers
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import PageOf, ResponseModel
from libs.web.openapi import problems
from services.portal.api.reservations import ReservationId

router = APIRouter(prefix="/v1/reservations", tags=["reservations"])
_NOUN = "reservation-servers"


class ReservedServer(ResponseModel):
    """A server of the reservation, and its place."""

    server_id: int
    name: str
    datacenter: str
    msb: str
    rack: str
    hardware_type: str
    current_reservation: str | None
    target_reservation: str | None
    in_use: bool
    host_profile: str
    unavailability: Unavailability
    share: float = Field(description="Share of the server that the reservation has; 1 unless it has guests, or is one")
    generation: int


@router.get("/{reservation_id}/servers", operation_id="list_reservation_servers", responses=problems(404))
def get_reservation_servers(
    reservation_id: ReservationId,
    context: Context,
    paging: Paging,
    binding: Annotated[
        Literal["current", "target"],
        Query(description="current: usable now, for allocators; target: decided"),
    ] = "current",
) -> PageOf[ReservedServer]:
    """List the servers bound to a reservation, by current or target binding, by id. A deleted reservation has none, and
    a guest those of its host.
    """
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        reservation = load_reservation(tx, reservation_id)
        if reservation.deleted_at is not None:
            return PageOf(items=[], next_cursor=None)
        holder = holder_id(tx, reservation_id)
        chosen = ServerFilter(current_id=holder) if binding == "current" else ServerFilter(target_id=holder)
        page = list_servers(tx, reservation.region, chosen, after=after, limit=paging.limit)
    of_server, share = ReservedServer.model_fields.keys() - {"share"}, reservation.server_share
    items = [
        ReservedServer.model_validate({name: getattr(one, name) for name in of_server} | {"share": share})
        for one in page.items
    ]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))
