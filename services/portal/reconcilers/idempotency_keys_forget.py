"""Forget idempotency keys that nobody will send again, so that their table stays bounded."""

from __future__ import annotations

from datetime import timedelta

from libs.reconcile.clock import Clock
from libs.store.database import Database
from libs.store.idempotency import delete_keys_before

KEPT = timedelta(hours=24)


class IdempotencyKeysForget:
    """Deletes keys older than KEPT. Idempotent."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def reconcile(self) -> int:
        """How many keys were forgotten."""
        with self._database.write() as tx:
            return delete_keys_before(tx, self._clock.now() - KEPT)
