"""Pull usage and traffic that Prometheus has measured since the last pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from structlog import get_logger

from libs.domain.metric_source import Fills, MetricPull, MetricSource
from libs.observability.tallies import PULLS
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Database
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.telemetry.measures import TRAFFIC, USAGE, put_samples
from libs.store.telemetry.metric_sources import list_sources, load_source, record_pull
from services.planner.prometheus import Prometheus, PrometheusError
from services.planner.pulled_samples import PulledSamples, read_answer
from services.planner.telemetry_settings import TelemetrySettings

log = get_logger(__name__)
CHUNK = timedelta(hours=1)
"""Time span of one query. A query of 20,000 series with a sample per minute answers with 30 MB."""
CHUNKS_MAX = 100
"""Queries per source in one run. The next run continues."""


@dataclass(frozen=True, slots=True)
class PullMetrics:
    """Pulls each source up to the present, hour by hour. The samples of an hour are committed together with the
    progress.
    """

    database: Database
    clock: Clock
    settings: TelemetrySettings
    prometheus: Prometheus
    check: Callable[[], None]

    def reconcile(self) -> None:
        """Pull each source as far as possible. A failing source does not delay the others."""
        with self.database.snapshot() as tx:
            sources = list_sources(tx).items
        for source in sources:
            try:
                self._pull(source)
            except (StaleGeneration, NotFound):
                PULLS.count("stale")  # another worker pulls it, or it has changed or is deleted

    def _pull(self, source: MetricSource) -> None:
        step = timedelta(minutes=source.query.step_minutes)
        end = _floor(self.clock.now() - timedelta(seconds=self.settings.prometheus_delay_s), step)
        for _ in range(CHUNKS_MAX):
            start = self._start(source, step)
            if start >= end:
                return
            self.check()
            until = min(start + CHUNK, end)
            try:
                query = source.query
                answer = self.prometheus.query_range(query.query, start, until - step, int(step.total_seconds()))
                self._commit(source, read_answer(query, answer), until)
            except (PrometheusError, NotPossible) as error:
                PULLS.count("failed")
                log.warning("pull.failed", source=source.name, error=str(error))
                self._record_error(source, start, str(error))
                return
            PULLS.count("done")
            with self.database.snapshot() as tx:
                source = load_source(tx, source.name)

    def _start(self, source: MetricSource, step: timedelta) -> datetime:
        now = self.clock.now()
        backfill = now - timedelta(days=self.settings.prometheus_backfill_days)
        start = backfill if source.pull is None else source.pull.pulled_until
        return _floor(max(start, now - timedelta(days=self.settings.telemetry_kept_days)), step)

    def _commit(self, source: MetricSource, pulled: PulledSamples, until: datetime) -> None:
        measure = USAGE if source.query.fills is Fills.USAGE else TRAFFIC
        crash_point("telemetry.pull.before")
        with self.database.write() as tx:
            record_pull(
                tx,
                source,
                MetricPull(
                    pulled_until=until,
                    attempted_at=self.clock.now(),
                    samples=len(pulled.samples),
                    series_left_out=pulled.left_out,
                    error=None,
                ),
            )
            put_samples(tx, measure, pulled.series, pulled.samples, series_max=self.settings.series_max)
        crash_point("telemetry.pull.after")

    def _record_error(self, source: MetricSource, start: datetime, error: str) -> None:
        with self.database.write() as tx:
            record_pull(
                tx,
                source,
                MetricPull(
                    pulled_until=start, attempted_at=self.clock.now(), samples=0, series_left_out=0, error=error
                ),
            )


def _floor(at: datetime, step: timedelta) -> datetime:
    """Return the last whole step counted from 1970, so that every pull samples the same minutes."""
    step_s = step.total_seconds()
    return datetime.fromtimestamp(at.timestamp() // step_s * step_s, UTC)
