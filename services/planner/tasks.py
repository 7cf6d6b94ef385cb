"""The planner's kinds of jobs."""

from __future__ import annotations

from services.planner.cycle_tasks import BESIDE
from services.planner.plan_tasks import PLANNING

KINDS = (*PLANNING, *BESIDE)
"""For make_celery."""
