"""The jobs of telemetry. They are short, and run in a worker next to the planning one."""

from __future__ import annotations

from contextlib import closing

from libs.jobs.kinds import JobKind, JobRun, job
from libs.jobs.settings import JobSettings
from libs.reconcile.call_retries import CallSettings
from libs.reconcile.environment import read_environment
from libs.reconcile.jobs import FORGET_TELEMETRY, PULL_METRICS, SUM_SPANS
from services.planner.prometheus import Prometheus
from services.planner.reconcilers.forget_telemetry import ForgetTelemetry
from services.planner.reconcilers.pull_metrics import PullMetrics
from services.planner.reconcilers.sum_spans import SumSpans
from services.planner.shared_attribution import attribution
from services.planner.telemetry_settings import TelemetrySettings


@job(SUM_SPANS)
def sum_spans(run: JobRun) -> None:
    """Sum the spans of silent traces."""
    attribute = attribution(run.database, read_environment(JobSettings))
    SumSpans(run.database, run.clock, read_environment(TelemetrySettings).trace_window_s, attribute).reconcile()


@job(PULL_METRICS)
def pull_metrics(run: JobRun) -> None:
    """Pull from Prometheus if one is configured."""
    settings = read_environment(TelemetrySettings)
    if settings.prometheus_url is None:
        return
    token = None if settings.prometheus_token is None else settings.prometheus_token.get_secret_value()
    retries = read_environment(CallSettings).pulls()
    with closing(Prometheus(settings.prometheus_url, token, settings.prometheus_ca, retries)) as prometheus:
        PullMetrics(run.database, run.clock, settings, prometheus, run.lease.check).reconcile()


@job(FORGET_TELEMETRY)
def forget_telemetry(run: JobRun) -> None:
    """Delete old telemetry."""
    ForgetTelemetry(run.database, run.clock, read_environment(TelemetrySettings).telemetry_kept_days).reconcile()


KINDS: tuple[JobKind, ...] = (sum_spans, pull_metrics, forget_telemetry)
"""The kinds of jobs, for make_celery."""
