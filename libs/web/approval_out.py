"""An approval as JSON, for the list of the portal and for the answers of services that wait for one."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, computed_field

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.plan_execution import ExecutionState, RejectKind
from libs.flux.execution.commands import possible_decisions
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
    plan_execution_id: int | None = Field(description="Of an action of a plan: the execution; null for all else")
    position: int | None = Field(description="Position of that action in the execution")
    execution_state: ExecutionState | None
    reservation: str | None = Field(description="Name of the reservation; null: the approval is about something else")
    about: str = Field(description="What it changes, for people", examples=["maintenance of rack rack-17 in west"])
    owner: str | None = Field(description="Owner of that reservation; of an action, of the service there")
    status: ApprovalStatus
    causes: list[CauseOut] = Field(description="Why it needs an approval")
    change: dict[str, object] = Field(
        description="The requested change: the spec of a request, the changed fields of a policy, the event of a "
        "maintenance, the version of a class of the RRU catalogue, or the resize of an action"
    )
    before: dict[str, object] | None = Field(
        description="The present values of the same fields; null for a new reservation and for maintenance"
    )
    asked_by: list[str] = Field(description="Actors who asked for it: names of tokens, or persons who logged in")
    given_reason: str | None = Field(description="Their reason, in their words")
    decided_by: str | None = Field(description="The token that approved, rejected or superseded it")
    decision_reason: str | None
    reject_kind: RejectKind | None = Field(description="Of a rejected action: the kind of the reason")
    created_at: datetime
    decided_at: datetime | None
    superseded_by: int | None = Field(description="The approval that took the place of this one; null: none did")
    waited_s: float | None = Field(description="Seconds from the question to the decision; null while it waits")
    generation: int

    @computed_field(description="The decisions that would be accepted now")  # type: ignore[prop-decorator]
    @property
    def possible(self) -> list[str]:
        """Return the decisions that would be accepted now."""
        if self.status is not ApprovalStatus.PENDING:
            return []
        if self.execution_state is None:
            return ["approve", "reject"]
        return [verb.value for verb in possible_decisions(self.execution_state)]
