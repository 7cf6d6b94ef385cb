"""`/v1/approvals/{id}/effects`: what it takes from reservations and from requests that wait."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from pydantic import Field

from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.principal import Role
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.portal.api.approvals import ApprovalId

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])
_OPERATOR = [Depends(require(Role.OPERATOR))]


class EffectOut(ResponseModel):
    """Another request that waits for approval."""

    capacity_request_id: int
    reservation: str
    owner: str
    phase_without: CapacityRequestPhase = Field(description="What it would become if it were approved now")
    phase_after: CapacityRequestPhase = Field(description="What it would become if it were approved after this one")
    lost: bool = Field(description="Whether it gets less after this one: rejected, or short in place of whole")
    message: str = Field(description="Why, and what to do, after this one")
    numbers: dict[str, float] = Field(description="The figures of the message")


class FreeOfTypeOut(ResponseModel):
    """The free servers of one hardware type that plans may bind."""

    hardware_type: str
    before: int
    after: int
    buffers_lack: int = Field(description="Servers that shared buffers of this type still need, from the free ones")


class ShorterOut(ResponseModel):
    """A reservation whose targets would lack more RRU."""

    reservation: str
    before_rru: float = Field(description="RRU that its targets lack now")
    after_rru: float = Field(description="RRU that they would lack after the approval")


class EffectOnPresentOut(ResponseModel):
    """The effect of the approval itself on the reservations that exist. Later solves are not foreseen."""

    from_free: int = Field(description="Free servers that it binds")
    from_others: int = Field(description="Servers that it takes from the targets of other reservations")
    compared: int = Field(description="Reservations that were compared, shared buffers included")
    shorter: list[ShorterOut] = Field(description="Those of them that would lack more")
    free: list[FreeOfTypeOut] = Field(description="The hardware types that the request may use")


class ApprovalEffectsOut(ResponseModel):
    """The effects of an approval: on its own request, and on the others that wait."""

    approval_id: int
    capacity_request_id: int
    phase: CapacityRequestPhase = Field(description="What its own request would become now")
    message: str
    present: EffectOnPresentOut
    rebooked: list[str] = Field(description="Reservations that begin later, and for which other servers are booked")
    items: list[EffectOut] = Field(description="The other requests that wait, those that lose first")
    more: bool = Field(description="Whether further requests wait that were not judged; the latest 20 are")


@router.get(
    "/{approval_id}/effects",
    operation_id="foresee_approval_effects",
    dependencies=_OPERATOR,
    responses=problems(404, 409, 429),
)
def get_approval_effects(approval_id: ApprovalId, principal: Asking, context: Context) -> ApprovalEffectsOut:
    """Compare the reservations that exist without the approval and with it. Judge each other request that waits twice:
    as if it were approved now, and after this one. Nothing is stored.
    """
    from services.portal.approval_effects import effects_of  # imported here because of services.portal.solving_code

    found = effects_of(context.database, context.clock, approval_id, holder=principal.holder)
    items = [
        EffectOut(
            capacity_request_id=one.request.capacity_request_id,
            reservation=one.request.reservation_name,
            owner=one.request.owner,
            phase_without=one.without.phase,
            phase_after=one.after.phase,
            lost=one.is_lost,
            message=one.after.message,
            numbers=dict(one.after.numbers),
        )
        for one in found.others
    ]
    return ApprovalEffectsOut(
        approval_id=approval_id,
        capacity_request_id=found.request.capacity_request_id,
        phase=found.own.phase,
        message=found.own.message,
        present=EffectOnPresentOut.model_validate(found.present),
        rebooked=list(found.rebooked),
        items=sorted(items, key=lambda one: (not one.lost, one.capacity_request_id)),
        more=found.more,
    )
