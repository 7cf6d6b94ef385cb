"""Begin and end events on time, and update the unavailability of servers."""

from __future__ import annotations

from dataclasses import dataclass

from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import refresh_unavailability
from libs.store.platform.database import Database


@dataclass(frozen=True, slots=True)
class RefreshUnavailability:
    """Refreshes one region. Idempotent."""

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> int:
        """Return how many servers became available or unavailable. Raises NotFound for the region."""
        with self.database.write() as tx:
            region_id = load_region(tx, self.region).region_id
            changed = refresh_unavailability(tx, region_id, now=self.clock.now())
            crash_point("broker.refresh.before")
        crash_point("broker.refresh.after")
        return changed
