"""Urgent departures: servers that operators want out of their reservation at once. See docs/designs/0032."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

URGENT_AT_ONCE_MAX = 1000
"""Largest number of servers that a call names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrgentDeparture:
    """A server that may leave its reservation at the level *hold*, without waiting for its turn.

    reservation   the reservation that it is in now; None: it has left
    """

    region: str
    server_id: int
    server: str
    reservation: str | None
    reason: str
    marked_by: str
    marked_at: datetime
