"""A capacity request: the change that an owner asks for, and how it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.reservation import ReservationSpec


class CapacityRequestKind(StrEnum):
    """The change that a request makes to a reservation."""

    CREATE = "create"
    RESIZE = "resize"
    DELETE = "delete"


class CapacityRequestPhase(StrEnum):
    """Phase of a request: submitted -> assessing -> one of the others. A degraded request can become granted.

    A request is submitted again when it is approved, and when its window begins. It can be amended and withdrawn until
    it is decided.
    """

    SUBMITTED = "submitted"
    ASSESSING = "assessing"
    AWAITING_APPROVAL = "awaiting_approval"
    SCHEDULED = "scheduled"
    GRANTED = "granted"
    DEGRADED = "degraded"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """One capacity request.

    spec                    the requested spec; None for a delete
    reservation_id          the reservation that it made or changes; None until a create is accepted
    reservation_generation  generation of the reservation that a resize or delete was asked against, or that accepting
                            a scheduled request wrote
    accepted                True: the request's reservation is stored, and waits for its window to begin
    given_reason            the owner's reason, in the owner's words
    requested_by            the token that made the request
    amended_by              the tokens that amended it later
    reason, message         the reason for the request's phase: an identifier, and a sentence that says what to do next
    numbers                 the figures behind the message
    """

    capacity_request_id: int
    region: str
    kind: CapacityRequestKind
    reservation_name: str
    reservation_id: int | None
    reservation_generation: int | None
    owner: str
    spec: ReservationSpec | None
    phase: CapacityRequestPhase
    reason: str
    message: str
    numbers: Mapping[str, object]
    requested_by: str
    amended_by: tuple[str, ...]
    given_reason: str | None
    accepted: bool
    generation: int
    created_at: datetime
    changed_at: datetime
