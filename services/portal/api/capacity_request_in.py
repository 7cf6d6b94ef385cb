"""The body of a capacity request: its fields, and the submission that it makes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from libs.domain.capacity_request import CapacityRequestKind
from libs.store.platform.database import Transaction
from libs.web.model import ID_MAX, Name, Owner, RequestModel, SomeName, Whole
from libs.web.problems import FieldError, invalid
from libs.web.reasons import GivenReason
from libs.web.specs import SpecIn
from services.portal.submit_requests import Submission, require_live, submit_create, submit_delete, submit_resize

_EXAMPLE: dict[str, Any] = {
    "kind": "create",
    "region": "west",
    "reservation": "web",
    "owner": "web-team",
    "spec": {"capacity_rru": 6, "rru": {"hw-a": 1, "hw-b": 1.5}, "msb_spread_limit": 0.5},
}


class CapacityRequestIn(RequestModel):
    """A request. A create needs owner and spec, a resize needs spec, a delete needs neither."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    kind: CapacityRequestKind
    region: SomeName
    reservation: Name = Field(description="Name of the reservation, unique among the region's live ones")
    owner: Owner | None = Field(default=None, description="The responsible owner; for a create")
    spec: SpecIn | None = Field(
        default=None, description="The wanted capacity and its constraints; for a create or a resize"
    )
    reservation_generation: Annotated[Whole, Field(ge=1, le=ID_MAX)] | None = Field(
        default=None,
        description="For a resize or delete: the generation that you have read; if omitted, the present one",
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail and for the approver")


class CapacityRequestPatch(RequestModel):
    """The fields to amend. Omitted fields of the spec stay."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"spec": {"capacity_rru": 5}, "reason": "less will do"}]})
    spec: SpecIn
    reason: GivenReason | None = Field(default=None, description="Why; if omitted, the earlier reason stays")


def submission_of(tx: Transaction, body: CapacityRequestIn, *, now: datetime) -> Submission:
    """Return the submission in the body of a request. Raises Problem for a field that the kind of request lacks or does
    not have.
    """
    create, delete = body.kind is CapacityRequestKind.CREATE, body.kind is CapacityRequestKind.DELETE
    errors = [
        _error(field, given, body.kind)
        for field, given, needed, allowed in (
            ("owner", body.owner is not None, create, create),
            ("spec", body.spec is not None, not delete, not delete),
            ("reservation_generation", body.reservation_generation is not None, False, not create),
        )
        if (needed and not given) or (given and not allowed)
    ]
    if errors:
        raise invalid(*errors)
    if create:
        assert body.owner is not None
        assert body.spec is not None
        spec = body.spec.to_spec()
        return submit_create(tx, region=body.region, name=body.reservation, owner=body.owner, spec=spec, now=now)
    reservation = require_live(tx, body.region, body.reservation)
    generation = body.reservation_generation or reservation.generation
    if delete:
        return submit_delete(tx, reservation, generation=generation)
    assert body.spec is not None
    return submit_resize(tx, reservation, body.spec.to_spec(reservation.spec), generation=generation, now=now)


def _error(field: str, given: bool, kind: CapacityRequestKind) -> FieldError:
    code, message = ("not_expected", "does not belong to") if given else ("missing", "is required for")
    return FieldError(field=field, location="body", code=code, message=f"{message} a {kind}")
