"""The phases of a reservation."""

from __future__ import annotations

from enum import StrEnum


class ReservationPhase(StrEnum):
    """State of a reservation. GRANTED and DEGRADED say whether its target bindings cover its capacity."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    GRANTED = "granted"
    DEGRADED = "degraded"
    DELETED = "deleted"
