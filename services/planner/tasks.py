"""The planner's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobKind

KINDS: tuple[JobKind, ...] = ()
"""For make_celery."""
