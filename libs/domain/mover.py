"""A region's mover: what operators set for it, and what its circuit breaker has noted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverBounds:
    """How much may be under way in a region; None: what the mover's environment says, or no bound.

    moves_max               moves at a time
    msb_share_max           share of an MSB's servers on their way out of a reservation at a time
    msb_moves_max           moves at a time in one MSB, whichever
    msb_starts_per_minute   moves that start in one MSB in any minute
    """

    moves_max: int | None = None
    msb_share_max: float | None = None
    msb_moves_max: int | None = None
    msb_starts_per_minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A region's mover.

    paused_at       since when no step begins; None: it is not paused
    patient_since   from then on steps are waited for: before it the mover was paused, or the actuator unreachable
    ticks_failed    ticks in a row in which the actuator gave no answer at all
    probe_at        the circuit breaker is open, and one step is asked for then; None: it is closed
    """

    region: str
    bounds: MoverBounds = MoverBounds()
    paused_at: datetime | None = None
    paused_reason: str | None = None
    patient_since: datetime | None = None
    ticks_failed: int = 0
    probe_at: datetime | None = None
    generation: int = 1
