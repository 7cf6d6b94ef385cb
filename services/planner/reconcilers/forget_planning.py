"""Delete finished plan runs and replaced inputs after a time, so that their tables stay bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from libs.reconcile.clock import Clock
from libs.store.planner.retention import forget_input_versions, forget_plan_runs
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database

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

    def reconcile(self) -> int:
        """Return how many runs and versions were deleted. Runs go first, then the inputs that they pinned."""
        with self.database.write() as tx:
            now = retention_now(tx, self.clock, "planning")
        before = now - timedelta(days=max(self.kept_days, KEPT_DAYS_MIN))
        runs = partial(forget_plan_runs, before=before, executed_plans=self.executed_plans)
        return self._all(runs) + self._all(partial(forget_input_versions, before=before))

    def _all(self, forget: Callable[..., int]) -> int:
        forgotten = 0
        while True:
            with self.database.write() as tx:
                batch = forget(tx, most=BATCH)
            forgotten += batch
            if batch < BATCH:
                return forgotten
