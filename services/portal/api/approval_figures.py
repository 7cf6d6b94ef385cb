"""`/v1/approval-figures`: how long approvals wait, and why people reject actions of plans."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.plan_execution import RejectKind, Verb
from libs.store.executions.approval_figures import load_approval_figures
from libs.web.context import Context
from libs.web.model import ResponseModel, SomeName

router = APIRouter(prefix="/v1/approval-figures", tags=["approvals"])


class WaitingOut(ResponseModel):
    """Approvals that wait for the same people."""

    kind: ApprovalKind
    owner: str | None = Field(description="null: they wait for operators")
    number: int
    oldest_at: datetime


class DecidedOut(ResponseModel):
    """Approvals that ended alike, and how long they waited."""

    kind: ApprovalKind
    status: ApprovalStatus
    number: int
    median_s: float
    p90_s: float


class ReasonCountOut(ResponseModel):
    """How often people rejected or edited actions of a service for one kind of reason."""

    service: str
    verb: Verb
    reject_kind: RejectKind | None = Field(description="null: they gave no kind")
    number: int


class ApprovalFiguresOut(ResponseModel):
    """All figures of now."""

    waiting: list[WaitingOut]
    decided: list[DecidedOut]
    reasons: list[ReasonCountOut] = Field(description="The most frequent first, at most 1,000")


@router.get("", operation_id="get_approval_figures")
def get_approval_figures(
    context: Context,
    service: Annotated[SomeName | None, Query(description="Reasons about this service only")] = None,
    days: Annotated[int, Query(ge=1, le=3650, description="Count decisions of so many days")] = 90,
) -> ApprovalFiguresOut:
    """Return what waits and since when, how long decisions took, and the reasons of people by kind and service."""
    since = context.clock.now() - timedelta(days=days)
    with context.database.snapshot() as tx:
        found = load_approval_figures(tx, since=since, service=service)
    return ApprovalFiguresOut.model_validate(found)
