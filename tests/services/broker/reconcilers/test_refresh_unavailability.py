from datetime import datetime, timedelta

from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored


class At:
    """A clock that stands still."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        raise AssertionError("nobody waits here")


def test_an_announced_outage_begins_and_ends_by_the_loop(database: Database) -> None:
    stored(database, region_image())
    with database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.RACK,
            scope_name="rack-00",
            kind=Unavailability.UNPLANNED,
            reason="test",
            starts_at=NOW + timedelta(hours=1),
            ends_at=NOW + timedelta(hours=2),
            actor="watchdog",
            now=NOW,
        )
    seen = []
    for hours in (0, 1, 1, 2):
        changed = RefreshUnavailability(database, At(NOW + timedelta(hours=hours)), "west").reconcile()
        seen.append((changed, int((~read(database).servers.available).sum())))
    assert seen == [(0, 0), (4, 4), (0, 4), (4, 0)]
