"""Delete old idempotency keys, so that their table stays bounded."""

from __future__ import annotations

from dataclasses import dataclass

from libs.store.platform.database import Database
from libs.store.platform.idempotency import forget_keys

KEPT_S = 86_400.0
"""Seconds of real time for which keys are kept, because clients may repeat a request. The Clock may pass a day in a
minute, or jump.
"""


@dataclass(frozen=True, slots=True)
class ForgetIdempotencyKeys:
    """Deletes keys older than KEPT_S. Idempotent."""

    database: Database

    def reconcile(self) -> int:
        """Return how many keys were deleted."""
        with self.database.write() as tx:
            return forget_keys(tx, older_than_s=KEPT_S)
