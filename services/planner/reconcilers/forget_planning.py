"""Delete finished plan runs, replaced inputs and what else is over in planning, so that their tables stay bounded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from libs.reconcile.clock import Clock
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database
from libs.store.retention.batches import forget_all
from libs.store.retention.of_planning import OF_WORLD, of_planning

BATCH = 100
"""Runs or versions per transaction. Each may be megabytes, and other transactions must not wait long."""
KEPT_DAYS_MIN = 8
"""Days; the weekly cycle needs its last run."""


@dataclass(frozen=True, slots=True)
class ForgetPlanning:
    """Deletes rows older than `kept_days` on the Clock, batch by batch. Idempotent, and safe to kill at any point."""

    database: Database
    clock: Clock
    kept_days: int
    executed_plans: int
    batch: int = BATCH

    def reconcile(self) -> int:
        """Return how many rows were deleted, without those that belong to a deleted row."""
        with self.database.write() as tx:
            now = retention_now(tx, self.clock, "planning")
        before = now - timedelta(days=max(self.kept_days, KEPT_DAYS_MIN))
        forgets = of_planning(self.executed_plans)
        planning = forget_all(self.database, forgets, before=before, most=self.batch)
        return planning + forget_all(self.database, OF_WORLD, before=before)
