"""Delete telemetry after its retention time, hour by hour and day by day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from libs.reconcile.clock import Clock
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database
from libs.store.telemetry.measures import TRAFFIC, USAGE, forget_samples
from libs.store.telemetry.span_sums import forget_span_sums


@dataclass(frozen=True, slots=True)
class ForgetTelemetry:
    """Keeps the tables of telemetry from growing with time."""

    database: Database
    clock: Clock
    kept_days: int

    def reconcile(self) -> None:
        """Delete old rows one table at a time, so that other transactions do not wait long."""
        with self.database.write() as tx:
            before = retention_now(tx, self.clock, "telemetry") - timedelta(days=self.kept_days)
        for measure in (USAGE, TRAFFIC):
            with self.database.write() as tx:
                forget_samples(tx, measure, int(before.timestamp() // 3600))
        with self.database.write() as tx:
            forget_span_sums(tx, before.date())
