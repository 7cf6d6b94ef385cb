"""The kinds of jobs that keep telemetry going. They are short, and run beside plans."""

from __future__ import annotations

from libs.jobs.kinds import JobKind, JobRun, job
from libs.reconcile.environment import read_environment
from services.planner.reconcilers.spans_sum import SpansSum
from services.planner.telemetry_settings import TelemetrySettings


@job("sum_spans")
def sum_spans(run: JobRun) -> None:
    """Sum what has fallen silent."""
    SpansSum(run.database, run.clock, read_environment(TelemetrySettings).trace_window_s).reconcile()


KINDS: tuple[JobKind, ...] = (sum_spans,)
"""For make_celery."""
