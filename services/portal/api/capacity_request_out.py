"""Show a capacity request as JSON. The request is stored, or it is the result of a dry run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.web.model import ResponseModel
from libs.web.specs import SpecOut
from services.portal.submit_requests import Submission

if TYPE_CHECKING:  # the module loads the solver's code: see services.portal.solving_code
    from services.portal.judge import Judgement


class CapacityRequestStatus(ResponseModel):
    """The state of a request."""

    phase: CapacityRequestPhase
    reason: str = Field(description="Identifier to match on", examples=["Covered"])
    message: str = Field(description="For people: the state, and what to do next")
    numbers: dict[str, object] = Field(description="The figures behind the message")
    changed_at: datetime | None


class CapacityRequestOut(ResponseModel):
    """One request. Its id and times are null in the answer to a dry run."""

    capacity_request_id: int | None
    kind: CapacityRequestKind
    region: str
    reservation: str
    reservation_id: int | None
    reservation_generation: int | None
    owner: str
    spec: SpecOut | None
    status: CapacityRequestStatus
    given_reason: str | None = Field(description="The owner's reason")
    requested_by: str
    amended_by: list[str] = Field(description="The tokens that amended the request")
    generation: int | None
    created_at: datetime | None


def request_out(request: CapacityRequest) -> CapacityRequestOut:
    """Return the request as JSON."""
    return CapacityRequestOut(
        capacity_request_id=request.capacity_request_id,
        kind=request.kind,
        region=request.region,
        reservation=request.reservation_name,
        reservation_id=request.reservation_id,
        reservation_generation=request.reservation_generation,
        owner=request.owner,
        spec=None if request.spec is None else SpecOut.model_validate(request.spec),
        status=CapacityRequestStatus(
            phase=request.phase,
            reason=request.reason,
            message=request.message,
            numbers=dict(request.numbers),
            changed_at=request.changed_at,
        ),
        given_reason=request.given_reason,
        requested_by=request.requested_by,
        amended_by=list(request.amended_by),
        generation=request.generation,
        created_at=request.created_at,
    )


def would_be_out(submission: Submission, judgement: Judgement, *, requested_by: str) -> CapacityRequestOut:
    """Return a submission as JSON: the request that it would become, with the decision in `judgement`."""
    reservation = submission.reservation
    return CapacityRequestOut(
        capacity_request_id=None,
        kind=submission.kind,
        region=submission.region.name,
        reservation=submission.name,
        reservation_id=None if reservation is None else reservation.reservation_id,
        reservation_generation=None if reservation is None else reservation.generation,
        owner=submission.owner,
        spec=None if submission.spec is None else SpecOut.model_validate(submission.spec),
        status=CapacityRequestStatus(
            phase=judgement.phase,
            reason=judgement.reason,
            message=judgement.message,
            numbers=dict(judgement.numbers),
            changed_at=None,
        ),
        given_reason=None,
        requested_by=requested_by,
        amended_by=[],
        generation=None,
        created_at=None,
    )
