"""How often a region is solved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

SOLVE_EVERY_S_MIN, SOLVE_EVERY_S_MAX = 60.0, 7 * 86_400.0
"""A minute and a week: a shorter period is all that a solver does, and a longer one nobody notices when it is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSchedule:
    """When a region is solved without being asked. Durations and moments are on the Clock.

    solve_every_s   the period that an operator chose, in seconds; None: none chose one
    period_s        the period that counts: that one, or else the scheduler's own
    solve_due_at    when the next solve is due; None: no scheduler has seen the region yet
    generation      the region's: the schedule is a part of it
    """

    region: str
    solve_every_s: float | None
    period_s: float
    solve_due_at: datetime | None
    generation: int
