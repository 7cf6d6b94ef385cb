"""An approval as JSON, for the list of the portal and for the answers of services that wait for one."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.web.model import ResponseModel


class CauseOut(ResponseModel):
    """One exceeded limit."""

    reason: str = Field(description="Stable identifier to match on", examples=["AboveSize"])
    message: str = Field(description="For people")
    numbers: dict[str, float]


class ApprovalOut(ResponseModel):
    """An approval, pending or decided."""

    approval_id: int
    region: str
    kind: ApprovalKind
    capacity_request_id: int | None
    reservation: str | None = Field(description="Name of the reservation; null: the approval is about something else")
    owner: str | None = Field(description="Owner of that reservation")
    status: ApprovalStatus
    causes: list[CauseOut] = Field(description="Why it needs an approval")
    change: dict[str, object] = Field(
        description="The requested change: the spec of a request, the changed fields of a policy, the event of a "
        "maintenance, or the version of a class of the RRU catalogue"
    )
    before: dict[str, object] | None = Field(
        description="The present values of the same fields; null for a new reservation and for maintenance"
    )
    asked_by: list[str] = Field(description="Names of the tokens that asked for it")
    given_reason: str | None = Field(description="Their reason, in their words")
    decided_by: str | None = Field(description="The token that approved, rejected or superseded it")
    decision_reason: str | None
    created_at: datetime
    decided_at: datetime | None
    generation: int
