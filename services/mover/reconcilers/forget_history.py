"""Delete what is over and old in a region, so that its tables stay bounded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from libs.reconcile.clock import Clock
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database
from libs.store.retention.batches import BATCH, forget_all
from libs.store.retention.of_regions import of_region


@dataclass(frozen=True, slots=True)
class ForgetHistory:
    """Deletes rows older than `kept_days` on the Clock, batch by batch. Idempotent, and safe to kill at any point."""

    database: Database
    clock: Clock
    region: str
    kept_days: int
    batch: int = BATCH

    def reconcile(self) -> int:
        """Return how many rows were deleted, without those that belong to a deleted row."""
        with self.database.write() as tx:
            now = retention_now(tx, self.clock, f"history of {self.region}")
        before = now - timedelta(days=self.kept_days)
        return forget_all(self.database, of_region(self.region), before=before, most=self.batch)
