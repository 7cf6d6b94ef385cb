"""`/v1/reservations/{id}/under-way`: the servers on their way to and from it, and when they will have moved."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from libs.store.capacity.reservations import load_reservation
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.motion_out import TravellersOut
from libs.web.openapi import problems
from services.portal.api.reservations import ReservationId
from services.portal.reservation_motion import under_way_at

router = APIRouter(prefix="/v1/reservations", tags=["reservations"])


class UnderWayOut(ResponseModel):
    """The servers that move at one reservation."""

    arriving: TravellersOut | None = Field(description="Servers on their way to it; null: none")
    leaving: TravellersOut | None = Field(description="Servers on their way from it; null: none")
    message: str = Field(description="Both, for people; empty if nothing is under way")


@router.get("/{reservation_id}/under-way", operation_id="get_reservation_under_way", responses=problems(404))
def get_reservation_under_way(reservation_id: ReservationId, context: Context) -> UnderWayOut:
    """Estimate when the servers on their way to and from a reservation have moved, as the waves of a plan do."""
    with context.database.snapshot() as tx:
        found = under_way_at(tx, load_reservation(tx, reservation_id), context.clock.now())
    return UnderWayOut.model_validate(found)
