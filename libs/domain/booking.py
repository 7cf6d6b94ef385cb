"""A booking: the servers that are kept for a reservation until its window begins. See docs/designs/0056."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

BEYOND_HORIZON = "BeyondHorizon"
"""The reason of a booking that is not made yet, because its window begins too far ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """The state of a booking, as a reservation shows it.

    is_promise   True: the servers cover the reservation from the start of its window
    servers      number of servers that are kept
    """

    observed_generation: int
    is_promise: bool
    reason: str
    message: str
    numbers: Mapping[str, object]
    servers: int
    changed_at: datetime
    decided_at: datetime
