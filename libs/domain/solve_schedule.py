"""The schedule of a region's solves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

SOLVE_EVERY_S_MIN, SOLVE_EVERY_S_MAX = 60.0, 7 * 86_400.0
"""Bounds of the period: a minute and a week. A shorter period keeps a solver busy; with a longer one, faults go unseen.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveSchedule:
    """The schedule of a region's solves. Durations and times are on the Clock.

    solve_every_s   the period set by an operator, in seconds; None: none is set
    period_s        the period in force: `solve_every_s`, or the scheduler's own period if it is None
    solve_due_at    time of the next solve; None: no scheduler has seen the region yet
    generation      generation of the region, because the schedule is a part of the region
    """

    region: str
    solve_every_s: float | None
    period_s: float
    solve_due_at: datetime | None
    generation: int
