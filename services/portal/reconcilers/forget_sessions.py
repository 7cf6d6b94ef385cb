"""Delete ended sessions, so that their table stays bounded."""

from __future__ import annotations

from dataclasses import dataclass

from libs.store.platform.database import Database
from libs.store.platform.sessions import forget_sessions


@dataclass(frozen=True, slots=True)
class ForgetSessions:
    """Deletes the sessions that have ended by their limits, or with their token. Idempotent."""

    database: Database

    def reconcile(self) -> int:
        """Return how many sessions were deleted."""
        with self.database.write() as tx:
            return forget_sessions(tx)
