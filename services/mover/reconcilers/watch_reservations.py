"""Keep the history of the capacity that the reservations of a region hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from structlog import get_logger

from libs.domain.readiness import RegionReadiness
from libs.domain.readiness_look import ReadinessPlan
from libs.observability.tallies import RESERVATION_S
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.capacity.readiness import commit_readiness, load_readiness_look
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database
from services.mover.readiness_plan import plan_readiness

GAP_MAX = timedelta(minutes=1)
"""Longest real time between two looks. If more time passes, the state of reservations in between counts as unknown."""
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WatchReservations:
    """Looks at one region: reads all of its reservations, and appends a record for each reservation that changed.
    Idempotent: a second look at the same state appends nothing.

    gap_max   GAP_MAX, converted to time of the Clock
    """

    database: Database
    clock: Clock
    region: str
    gap_max: timedelta = GAP_MAX

    def reconcile(self) -> int:
        """Return the number of records appended. Raises NotFound for the region."""
        with self.database.snapshot() as tx:
            now = certain_now(tx, self.clock)
            look = load_readiness_look(tx, self.region, now=now)
        plan = plan_readiness(look, now=now, gap_max=self.gap_max)
        crash_point("mover.watch.before")
        with self.database.write() as tx:
            is_written = commit_readiness(tx, look, plan)
        crash_point("mover.watch.after")
        if not is_written:  # another look was faster, and saw the same state or a later one
            return 0
        self._count(look.before, plan)
        if plan.is_unknown:
            log.warning("reservations.unwatched", region=self.region, since=look.before and look.before.watched_until)
        return len(plan.records)

    def _count(self, before: RegionReadiness | None, plan: ReadinessPlan) -> None:
        """Count the time since the last look, by the states at that look."""
        elapsed_s = 0.0 if before is None else (plan.region.watched_until - before.watched_until).total_seconds()
        if before is None or elapsed_s <= 0:
            return
        reservations = {name: getattr(before, name) for name in ("ready", "not_there_yet", "capacity_lost")}
        if plan.is_unknown:
            reservations = {"not_watched": sum(reservations.values())}
        for state, number in reservations.items():
            RESERVATION_S.count(self.region, state, by=number * elapsed_s)
