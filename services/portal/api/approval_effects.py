"""`/v1/approvals/{id}/effects`: the requests that can no longer be approved after it."""

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


class ApprovalEffectsOut(ResponseModel):
    """The effects of an approval: on its own request, and on the others that wait."""

    approval_id: int
    capacity_request_id: int
    phase: CapacityRequestPhase = Field(description="What its own request would become now")
    message: str
    items: list[EffectOut] = Field(description="The other requests that wait, those that lose first")
    more: bool = Field(description="Whether further requests wait that were not judged; the latest 20 are")


@router.get(
    "/{approval_id}/effects",
    operation_id="foresee_approval_effects",
    dependencies=_OPERATOR,
    responses=problems(404, 409, 429),
)
def get_approval_effects(approval_id: ApprovalId, principal: Asking, context: Context) -> ApprovalEffectsOut:
    """Judge each other request that waits twice: as if it were approved now, and after this one. Nothing is stored."""
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
        items=sorted(items, key=lambda one: (not one.lost, one.capacity_request_id)),
        more=found.more,
    )
