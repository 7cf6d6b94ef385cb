"""`/v1/approvals`: changes that wait for a person, and past decisions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.principal import Role
from libs.store.capacity.approvals import list_approvals, load_approval
from libs.store.platform.database import Transaction
from libs.web.approval_out import ApprovalOut
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, RequestModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason
from services.portal.decide_approvals import approve, reject
from services.portal.submit_requests import require_region

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])
_NOUN = "approvals"
_OPERATOR = [Depends(require(Role.OPERATOR))]
ApprovalId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the approval")]


class DecisionIn(RequestModel):
    """The reason for the decision. The requester reads it, and the audit trail keeps it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "agreed in the capacity review"}]})
    reason: GivenReason = Field(description="One line")


@router.get("", operation_id="list_approvals")
def get_approvals(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    status: Annotated[ApprovalStatus | None, Query(description="With this status only; pending: undecided")] = None,
    kind: Annotated[ApprovalKind | None, Query(description="Of this kind only")] = None,
    capacity_request_id: Annotated[int | None, Query(ge=1, le=ID_MAX, description="Of this request only")] = None,
) -> PageOf[ApprovalOut]:
    """List approvals, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            require_region(tx, region, location="query")
        page = list_approvals(
            tx,
            region=region,
            status=status,
            kind=kind,
            capacity_request_id=capacity_request_id,
            before=before,
            limit=paging.limit,
        )
    items = [ApprovalOut.model_validate(approval) for approval in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{approval_id}", operation_id="get_approval", responses={200: {"headers": headers("ETag")}, **problems(404)}
)
def get_approval(approval_id: ApprovalId, context: Context, response: Response) -> ApprovalOut:
    """Return one approval: the request, the reasons to wait, and the decision."""
    with context.database.snapshot() as tx:
        approval = load_approval(tx, approval_id)
    response.headers.update(etag(approval.generation))
    return ApprovalOut.model_validate(approval)


@router.post(
    "/{approval_id}/approve",
    operation_id="approve_approval",
    response_model=ApprovalOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_approve(
    approval_id: ApprovalId,
    body: DecisionIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Approve a change. A request is assessed again at once, and later changes may still cause its refusal."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        found = approve(tx, approval_id, generation=expected, actor=principal.name, reason=body.reason, now=now)
        return Answer(200, ApprovalOut.model_validate(found), etag(found.generation))

    return write.once(effect)


@router.post(
    "/{approval_id}/reject",
    operation_id="reject_approval",
    response_model=ApprovalOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_reject(
    approval_id: ApprovalId,
    body: DecisionIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Reject a change. The requester sees the reason."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        found = reject(tx, approval_id, generation=expected, actor=principal.name, reason=body.reason, now=now)
        return Answer(200, ApprovalOut.model_validate(found), etag(found.generation))

    return write.once(effect)
