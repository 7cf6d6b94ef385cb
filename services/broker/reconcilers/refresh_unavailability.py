"""Begin and end events on time, ask for the maintenance that waits, and update the unavailability of servers."""

from __future__ import annotations

from dataclasses import dataclass

from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.broker.ask_maintenance import ask_queue
from services.broker.tell_maintenance import tell_need


@dataclass(frozen=True, slots=True)
class RefreshUnavailability:
    """Refreshes one region. Idempotent."""

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> int:
        """Return how many servers became available or unavailable. Raises NotFound for the region."""
        with self.database.write() as tx:
            region_id, now = load_region(tx, self.region).region_id, self.clock.now()
            changed = ask_queue(tx, region_id, now=now)
            tell_need(tx, region_id, now=now)
            crash_point("broker.refresh.before")
        crash_point("broker.refresh.after")
        return changed
