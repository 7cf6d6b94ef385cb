"""`/v1/regions/{region}/approval-limits`: the limits above which a request needs a person's approval."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field

from libs.domain.approval import ApprovalLimits
from libs.domain.principal import Role
from libs.store.capacity.approval_limits import load_approval_limits, set_approval_limits
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Flag, Number, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason

router = APIRouter(prefix="/v1/regions", tags=["approvals"])
RegionName = Annotated[SomeName, Path(description="Name of the region")]


class ApprovalLimitsIn(RequestModel):
    """All limits of a region. A limit that is null or omitted lets every request pass."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"size_cost_units": 500, "hardware_share": 0.1}]})
    size_cost_units: Annotated[Number, Field(ge=0, le=1e12)] | None = Field(
        default=None, description="A request that may come to hold more cost units needs an approval"
    )
    hardware_share: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        default=None, description="A larger share of a hardware type's servers needs an approval"
    )
    four_eyes: Flag = Field(default=False, description="Whoever asked cannot approve")
    policy_prices: Flag = Field(
        default=False, description="Every change of the region's policy needs an approval, not only the shared buffers'"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class ApprovalLimitsOut(ResponseModel):
    """The limits of a region."""

    region: str
    size_cost_units: float | None
    hardware_share: float | None
    four_eyes: bool
    policy_prices: bool
    generation: int = Field(description="0 if none were ever set; send it as If-Match")


@router.get(
    "/{region}/approval-limits",
    operation_id="get_approval_limits",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_approval_limits(region: RegionName, context: Context, response: Response) -> ApprovalLimitsOut:
    """Return the approval limits of a region."""
    with context.database.snapshot() as tx:
        limits = load_approval_limits(tx, load_region(tx, region).region_id)
    response.headers.update(etag(limits.generation))
    return ApprovalLimitsOut(region=region, **asdict(limits))


@router.put(
    "/{region}/approval-limits",
    operation_id="put_approval_limits",
    response_model=ApprovalLimitsOut,
    dependencies=[Depends(require(Role.ADMIN))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_approval_limits(
    region: RegionName,
    body: ApprovalLimitsIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Set the approval limits of a region. Only admins may, because approvers must not choose what needs approval."""

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, region).region_id
        before = load_approval_limits(tx, region_id)
        given = body.model_dump(exclude={"reason"})
        after = set_approval_limits(tx, region_id, replace(ApprovalLimits(**given), generation=expected))
        audit.append(
            tx,
            actor=principal.name,
            action="set_approval_limits",
            subject_kind="region",
            subject_id=region_id,
            now=context.clock.now(),
            before=asdict(before),
            after=asdict(after),
            reason=body.reason,
        )
        return Answer(200, ApprovalLimitsOut(region=region, **asdict(after)), etag(after.generation))

    return write.once(effect)
