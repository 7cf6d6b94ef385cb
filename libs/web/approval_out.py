"""An approval as JSON: the portal lists them, and whoever keeps something waiting answers with one."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.web.model import ResponseModel


class CauseOut(ResponseModel):
    """One limit that is exceeded."""

    reason: str = Field(description="Identifier to match on", examples=["AboveSize"])
    message: str = Field(description="For people")
    numbers: dict[str, float]


class ApprovalOut(ResponseModel):
    """One thing that waits for a person, or waited."""

    approval_id: int
    region: str
    kind: ApprovalKind
    capacity_request_id: int | None
    reservation: str | None = Field(description="That the request is about; null: it is about a policy")
    owner: str | None = Field(description="Of that reservation")
    status: ApprovalStatus
    causes: list[CauseOut] = Field(description="Why it needs a person")
    change: dict[str, object] = Field(description="What is asked: a request's spec, or the parts of a policy")
    before: dict[str, object] | None = Field(description="What is so now, of the same; null for a new reservation")
    asked_by: list[str] = Field(description="The tokens that asked for it")
    given_reason: str | None = Field(description="Why, in their words")
    decided_by: str | None = Field(description="Who approved, rejected or overtook it")
    decision_reason: str | None
    created_at: datetime
    decided_at: datetime | None
    generation: int
