"""`/v1/approvals`: changes that wait for a person, and past decisions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.approval import Approval, ApprovalKind, ApprovalStatus
from libs.domain.plan_execution import RejectKind, Verb
from libs.domain.principal import Principal, Role
from libs.store.capacity.approvals import list_approvals, load_approval
from libs.store.platform.database import Transaction
from libs.web.approval_out import ApprovalOut
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.execution_commands import give_once
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write, Writer
from libs.web.model import ID_MAX, Number, PageOf, RequestModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, invalid
from libs.web.reasons import GivenReason
from services.portal.decide_actions import decide_action, require_decider
from services.portal.decide_approvals import approve, reject
from services.portal.submit_requests import require_region

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])
_NOUN = "approvals"
_DECIDER = [Depends(require(Role.REQUESTER))]
"""Operators decide on everything, and owners on actions of their services: `require_decider` checks which."""
ApprovalId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the approval")]


class DecisionIn(RequestModel):
    """The reason for the decision. The requester reads it, and the audit trail keeps it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "agreed in the capacity review"}]})
    reason: GivenReason = Field(description="One line")


class RejectionIn(DecisionIn):
    """A rejection. Planners learn from counts of the kinds."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "too small to bother", "reject_kind": "too_small"}]}
    )
    reject_kind: RejectKind | None = Field(default=None, description="Of an action of a plan: the kind of the reason")


class EditIn(RejectionIn):
    """Another size of an action."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"size": 120, "reason": "a launch", "reject_kind": "too_little_headroom"}]}
    )
    size: Annotated[Number, Field(ge=0, le=1e15)] = Field(description="In units of the hardware type")


@router.get("", operation_id="list_approvals")
def get_approvals(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    status: Annotated[ApprovalStatus | None, Query(description="With this status only; pending: undecided")] = None,
    decided: Annotated[
        bool | None, Query(description="true: only those that a person decided; false: only the others")
    ] = None,
    kind: Annotated[ApprovalKind | None, Query(description="Of this kind only")] = None,
    owner: Annotated[SomeName | None, Query(description="Of this owner only")] = None,
    capacity_request_id: Annotated[int | None, Query(ge=1, le=ID_MAX, description="Of this request only")] = None,
    plan_execution_id: Annotated[int | None, Query(ge=1, le=ID_MAX, description="Of this execution only")] = None,
) -> PageOf[ApprovalOut]:
    """List approvals, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None and kind is not ApprovalKind.PLAN_ACTION and plan_execution_id is None:
            require_region(tx, region, location="query")
        page = list_approvals(
            tx,
            region=region,
            status=status,
            decided=decided,
            kind=kind,
            owner=owner,
            plan_execution_id=plan_execution_id,
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
    dependencies=_DECIDER,
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
    """Approve a change. A request is assessed again at once, and later changes may still cause its refusal. Owners
    approve actions of plans on their own services; all else needs an operator.
    """
    decide = partial(approve, approval_id=approval_id, generation=expected, actor=principal.name, reason=body.reason)
    return _decide(write, principal, context, approval_id, expected, Verb.APPROVE, body.reason, otherwise=decide)


@router.post(
    "/{approval_id}/reject",
    operation_id="reject_approval",
    response_model=ApprovalOut,
    dependencies=_DECIDER,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_reject(
    approval_id: ApprovalId,
    body: RejectionIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Reject a change. The requester sees the reason. A rejected action of a plan is skipped, with all that needs
    it.
    """
    decide = partial(reject, approval_id=approval_id, generation=expected, actor=principal.name, reason=body.reason)
    return _decide(
        *(write, principal, context, approval_id, expected, Verb.REJECT, body.reason),
        otherwise=decide,
        reject_kind=body.reject_kind,
    )


@router.post(
    "/{approval_id}/edit",
    operation_id="edit_approval",
    response_model=ApprovalOut,
    dependencies=_DECIDER,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_edit(
    approval_id: ApprovalId,
    body: EditIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Change the size that an action of a plan leads to. The approval of the new size stays pending."""
    return _decide(
        *(write, principal, context, approval_id, expected, Verb.EDIT, body.reason),
        reject_kind=body.reject_kind,
        size=body.size,
    )


@router.post(
    "/{approval_id}/take-over",
    operation_id="take_over_approval",
    response_model=ApprovalOut,
    dependencies=_DECIDER,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_take_over(
    approval_id: ApprovalId,
    body: DecisionIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Take an action of a plan over, to do it by hand. The command `complete` of its execution says when it is
    done.
    """
    return _decide(write, principal, context, approval_id, expected, Verb.TAKE_OVER, body.reason)


def _decide(
    write: Writer,
    principal: Principal,
    context: WebContext,
    approval_id: int,
    expected: int,
    verb: Verb,
    reason: str,
    *,
    otherwise: Callable[..., Approval] | None = None,
    reject_kind: RejectKind | None = None,
    size: float | None = None,
) -> Response:
    """Decide on an action with a command, or on all else with `otherwise`."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        approval = load_approval(tx, approval_id)
        require_decider(principal, approval)
        if approval.plan_execution_id is None and otherwise is not None:
            if reject_kind is not None:
                message = "is for actions of plans; say why in reason"
                raise invalid(FieldError(field="reject_kind", location="body", code="not_for_this", message=message))
            found = otherwise(tx, now=now)
        else:
            found = decide_action(
                *(tx, approval, verb),
                generation=expected,
                actor=principal.name,
                reason=reason,
                now=now,
                reject_kind=reject_kind,
                size=size,
            )
        return Answer(200, ApprovalOut.model_validate(found), etag(found.generation))

    return give_once(write, effect)
