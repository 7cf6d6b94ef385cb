"""Forget old moves and the changes of old plans, so that their tables stay bounded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from libs.reconcile.clock import Clock
from libs.store.database import Database
from libs.store.history import forget_moves, forget_plan_changes

BATCH = 10_000
"""Rows that one transaction forgets: nobody waits long for it."""


class HistoryForget:
    """Deletes what is older than `kept_days` on the Clock, batch by batch. Idempotent; may be killed anywhere."""

    def __init__(self, database: Database, clock: Clock, region: str, *, kept_days: int) -> None:
        self._database, self._region = database, region
        self._before = clock.now() - timedelta(days=kept_days)

    def reconcile(self) -> int:
        """How many rows were forgotten."""
        return self._all(forget_moves) + self._all(forget_plan_changes)

    def _all(self, forget: Callable[..., int]) -> int:
        forgotten = 0
        while True:
            with self._database.write() as tx:
                batch = forget(tx, self._region, before=self._before, most=BATCH)
            forgotten += batch
            if batch < BATCH:
                return forgotten
