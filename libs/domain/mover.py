"""The mover of a region: the bounds and pauses set by operators, and the state of its circuit breaker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MOVES_MAX = 1000
"""Concurrent moves of a region, unless the environment or an operator says otherwise."""
MSB_SHARE_MAX = 0.1
"""Bounds of the share of an MSB's servers that may be leaving at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverBounds:
    """Bounds on the moves of a region. For a bound of None, the bound in the mover's environment applies, if there is
    one.

    moves_max               concurrent moves
    msb_share_max           share of an MSB's servers that may be leaving a reservation at a time
    msb_moves_max           concurrent moves of any kind in one MSB
    msb_starts_per_minute   moves started in one MSB in any minute
    loan_s_max              seconds that a loan of a server may last; None: LOAN_S_MAX (libs/domain/spare.py)
    """

    moves_max: int | None = None
    msb_share_max: float | None = None
    msb_moves_max: int | None = None
    msb_starts_per_minute: int | None = None
    loan_s_max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """The mover of a region.

    paused_at       time of the pause, during which no step begins; None: not paused
    patient_since   end of the last pause or outage of the actuator; time before it does not count as a step's duration
    ticks_failed    consecutive ticks without any answer of the actuator
    probe_at        time at which the open circuit breaker tries one step; None: the breaker is closed
    """

    region: str
    bounds: MoverBounds = MoverBounds()
    paused_at: datetime | None = None
    paused_reason: str | None = None
    patient_since: datetime | None = None
    ticks_failed: int = 0
    probe_at: datetime | None = None
    generation: int = 1
