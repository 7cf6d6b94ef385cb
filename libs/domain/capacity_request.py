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
    """submitted -> assessing -> granted | degraded | rejected; withdrawn before it is assessed; degraded -> granted."""

    SUBMITTED = "submitted"
    ASSESSING = "assessing"
    GRANTED = "granted"
    DEGRADED = "degraded"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """One request.

    spec                    what is wanted; None for a delete
    reservation_id          the reservation it made or changes; None before a create is accepted
    reservation_generation  the generation that a resize or delete was asked against
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
    generation: int
    created_at: datetime
    changed_at: datetime
