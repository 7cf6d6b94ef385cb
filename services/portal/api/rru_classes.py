"""`/v1/regions/{region}/rru-classes`: the RRU catalogue, in versions that wait for approval."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role
from libs.domain.reservation import RRU_MIN, SERVER_RRU_MAX
from libs.store.capacity.rru_catalogue import list_classes, list_versions, load_version
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.web.approval_out import ApprovalOut
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Name, Number, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason, ReasonQuery
from services.portal.propose_rru import ask_for_version, ask_to_retire

router = APIRouter(prefix="/v1/regions", tags=["rru classes"])
_NOUN, _VERSIONS = "rru-classes", "rru-versions"
RegionName = Annotated[SomeName, Path(description="Name of the region")]
ClassName = Annotated[Name, Path(description="Name of the class of workload")]
_Rru = Annotated[Number, Field(ge=RRU_MIN, le=SERVER_RRU_MAX)]


class RruClassIn(RequestModel):
    """A version of a class, in full."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rru": {"hw-a": 1, "hw-b": 1.7}, "reference": "hw-a", "reason": "measured"}]}
    )
    rru: Annotated[dict[SomeName, _Rru], Field(min_length=1, max_length=500)] = Field(
        description="Hardware type -> RRU of one server; absent types are not used"
    )
    reference: SomeName | None = Field(
        default=None, description="Hardware type whose RRU is 1 in every class; for the first class of the region"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the approver and the history")


class RruClassOut(ResponseModel):
    """A version of a class."""

    rru_version_id: int
    region: str
    workload_class: str
    version: int = Field(description="1 for the first; send it as If-Match")
    reference: str
    rru: dict[str, float] = Field(description="Hardware type -> RRU of one server; empty: the class is retired")
    asked_by: list[str]
    approved_by: str
    reason: str | None
    created_at: datetime


@router.get("/{region}/rru-classes", operation_id="list_rru_classes", responses=problems(404))
def get_rru_classes(region: RegionName, context: Context, paging: Paging) -> PageOf[RruClassOut]:
    """List the present version of every class."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_classes(tx, load_region(tx, region).region_id, after=after, limit=paging.limit)
    items = [RruClassOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{region}/rru-classes/{workload_class}",
    operation_id="get_rru_class",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_rru_class(region: RegionName, workload_class: ClassName, context: Context, response: Response) -> RruClassOut:
    """Return the latest version of a class. One without types retires it."""
    with context.database.snapshot() as tx:
        found = load_version(tx, load_region(tx, region).region_id, workload_class)
    response.headers.update(etag(found.version))
    return RruClassOut.model_validate(found)


@router.get(
    "/{region}/rru-classes/{workload_class}/versions", operation_id="list_rru_versions", responses=problems(404)
)
def get_rru_versions(
    region: RegionName, workload_class: ClassName, context: Context, paging: Paging
) -> PageOf[RruClassOut]:
    """List the versions of a class, latest first."""
    before = paging.after(_VERSIONS)
    with context.database.snapshot() as tx:
        region_id = load_region(tx, region).region_id
        page = list_versions(tx, region_id, workload_class, before=before, limit=paging.limit)
    items = [RruClassOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_VERSIONS, page.next_cursor))


@router.put(
    "/{region}/rru-classes/{workload_class}",
    operation_id="put_rru_class",
    status_code=202,
    response_model=ApprovalOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={202: {"headers": headers("Location"), "description": "Waits for an approval"}, **problems(404, 409)},
)
def put_rru_class(
    region: RegionName,
    workload_class: ClassName,
    body: RruClassIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Ask for another version of a class; If-Match is the present version, 0 for a new class. It waits for an approval.

    Once it is approved, reservations that name the class follow it at the next solve.
    """

    def effect(tx: Transaction) -> Answer:
        approval = ask_for_version(
            tx,
            load_region(tx, region, lock=True),
            workload_class,
            body.rru,
            body.reference,
            version=expected,
            actor=principal.name,
            reason=body.reason,
            now=context.clock.now(),
        )
        location = {"Location": f"/v1/approvals/{approval.approval_id}"}
        return Answer(202, ApprovalOut.model_validate(approval), location)

    return write.once(effect)


@router.delete(
    "/{region}/rru-classes/{workload_class}",
    operation_id="retire_rru_class",
    status_code=202,
    response_model=ApprovalOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={202: {"headers": headers("Location"), "description": "Waits for an approval"}, **problems(404, 409)},
)
def delete_rru_class(
    region: RegionName,
    workload_class: ClassName,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Ask to retire a class; If-Match is the present version. It waits for an approval. Its versions stay, and a later
    version brings it back.

    Refused while reservations follow the class. The problem names them.
    """

    def effect(tx: Transaction) -> Answer:
        approval = ask_to_retire(
            tx,
            load_region(tx, region, lock=True),
            workload_class,
            version=expected,
            actor=principal.name,
            reason=reason,
            now=context.clock.now(),
        )
        location = {"Location": f"/v1/approvals/{approval.approval_id}"}
        return Answer(202, ApprovalOut.model_validate(approval), location)

    return write.once(effect)
