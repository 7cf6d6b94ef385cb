"""Let events begin and end with the clock, and make the servers' unavailability follow."""

from __future__ import annotations

from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.database import Database
from libs.store.regions import load_region
from libs.store.unavailability_events import refresh_unavailability


class ServersRefresh:
    """Refreshes one region. Idempotent."""

    def __init__(self, database: Database, clock: Clock, region: str) -> None:
        self._database, self._clock, self._region = database, clock, region

    def reconcile(self) -> int:
        """How many servers became available or unavailable. Raises NotFound for the region."""
        with self._database.write() as tx:
            region_id = load_region(tx, self._region).region_id
            changed = refresh_unavailability(tx, region_id, now=self._clock.now())
            crash_point("broker.refresh.before")
        crash_point("broker.refresh.after")
        return changed
