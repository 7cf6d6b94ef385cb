"""Delete old moves, changes of old plans and records of readiness, so that their tables stay bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from libs.reconcile.clock import Clock
from libs.store.capacity.readiness import forget_readiness
from libs.store.moves.retention import forget_moves, forget_plan_changes
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database

BATCH = 10_000
"""Largest number of rows per transaction. It is small, so that other transactions do not wait long."""


@dataclass(frozen=True, slots=True)
class ForgetHistory:
    """Deletes rows older than `kept_days` on the Clock, batch by batch. Idempotent, and safe to kill at any point."""

    database: Database
    clock: Clock
    region: str
    kept_days: int

    def reconcile(self) -> int:
        """Return how many rows were deleted."""
        with self.database.write() as tx:
            now = retention_now(tx, self.clock, f"history of {self.region}")
        before = now - timedelta(days=self.kept_days)
        return sum(self._all(forget, before) for forget in (forget_moves, forget_plan_changes, forget_readiness))

    def _all(self, forget: Callable[..., int], before: datetime) -> int:
        forgotten = 0
        while True:
            with self.database.write() as tx:
                batch = forget(tx, self.region, before=before, most=BATCH)
            forgotten += batch
            if batch < BATCH:
                return forgotten
