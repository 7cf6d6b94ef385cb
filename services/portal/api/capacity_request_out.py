"""Show a capacity request as JSON. The request is stored, or it is the result of a dry run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.domain.reservation import CapacityUnit
from libs.web.model import ResponseModel
from libs.web.specs import SpecOut
from services.portal.submit_requests import Submission

if TYPE_CHECKING:  # the module loads the solver's code: see services.portal.solving_code
    from services.portal.judge import Judgement
    from services.portal.ways_out import WayOut


class CapacityRequestStatus(ResponseModel):
    """The state of a request."""

    phase: CapacityRequestPhase
    reason: str = Field(description="Identifier to match on", examples=["Covered"])
    message: str = Field(description="For people: the state, and what to do next")
    numbers: dict[str, object] = Field(description="The figures behind the message")
    changed_at: datetime | None


class WayOutOut(ResponseModel):
    """A change of a request, and the decision that the changed request would get."""

    change: dict[str, object] = Field(
        description="Field of the spec and its other value", examples=[{"capacity_rru": 17.5}]
    )
    phase: CapacityRequestPhase
    reason: str = Field(description="Identifier to match on", examples=["Granted"])
    message: str = Field(description="For people: the state, and what to do next")
    cost_units: float = Field(description="What the reservation would count toward the quota")


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
    ways_out: list[WayOutOut] = Field(
        default=[],
        description="Of a dry run that is not granted: changes that would get a better answer, the best first, and of "
        "equal ones those that cost least. Each was judged alone. Empty for stored requests",
    )


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


def would_be_out(
    submission: Submission, judgement: Judgement, ways: Sequence[WayOut], *, requested_by: str
) -> CapacityRequestOut:
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
        ways_out=[
            WayOutOut(
                change=_as_asked(submission, one.change),
                phase=one.judgement.phase,
                reason=one.judgement.reason,
                message=one.judgement.message,
                cost_units=one.judgement.cost_units,
            )
            for one in ways
        ],
    )


def _as_asked(submission: Submission, change: Mapping[str, Any]) -> dict[str, object]:
    """Return a change in the fields of the request: a capacity that was asked for in servers is a count."""
    spec = submission.spec
    if spec is None or spec.unit is not CapacityUnit.COUNT or "capacity_rru" not in change:
        return dict(change)
    return {name: value for name, value in change.items() if name != "capacity_rru"} | {
        "count": int(change["capacity_rru"])
    }
