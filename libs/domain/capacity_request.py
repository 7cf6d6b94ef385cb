"""A capacity request: what an owner asked for, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.reservation import ReservationSpec


class CapacityRequestKind(StrEnum):
    """What the request does to a reservation."""

    CREATE = "create"
    RESIZE = "resize"
    DELETE = "delete"


class CapacityRequestPhase(StrEnum):
    """submitted -> assessing -> granted | degraded | rejected | scheduled | awaiting_approval; degraded -> granted.

    Approved, or begun by its window, it is submitted again. Until it is decided it can be amended and withdrawn.
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
    """One request.

    spec                    what is wanted; None for a delete
    reservation_id          the reservation it made or changes; None before a create is accepted
    reservation_generation  the generation that a resize or delete was asked against, or a scheduled one left behind
    accepted                its reservation is stored already, scheduled: what is left is to begin
    given_reason            why it is wanted, in its owner's words
    amended_by              the tokens that changed what is asked; requested_by asked first
    reason, message         why it is in its phase: an identifier, and a sentence that says what to do next
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
