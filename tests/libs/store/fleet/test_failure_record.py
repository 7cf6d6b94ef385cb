"""Read the failures that a region has seen."""

from datetime import timedelta

from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.failure_record import load_spare_record
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

MINUTE = timedelta(minutes=1)


def test_servers_that_were_down_when_the_region_came_are_no_failures(database: Database) -> None:
    """They failed before the time that is watched. As failures of its first minutes, they would be hundreds a day."""
    spec = ReservationSpec(capacity_rru=2.0, rru={"hw-a": 1.0}, survives_msb_loss=False)
    of = {"buffer": "shared_buffer"}
    image = region_image(
        reservations={"buffer": spec},
        kind=of,
        current={"server-00": "buffer", "server-04": "buffer"},
        down={"server-06", "server-07"},
    )
    stored(database, image)
    with database.snapshot() as tx:
        record = load_spare_record(tx, "west", now=NOW + 8 * MINUTE)
    assert (record.usable.tolist(), record.down.tolist(), record.failures.tolist()) == ([2], [2], [0])
    assert record.per_s.tolist() == [0.0]

    with database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-01",
            kind=Unavailability.UNPLANNED,
            reason="power",
            starts_at=NOW + MINUTE,
            ends_at=None,
            now=NOW + MINUTE,
            actor="watchdog",
        )
    with database.snapshot() as tx:
        record = load_spare_record(tx, "west", now=NOW + 8 * MINUTE)
    assert (record.down.tolist(), record.failures.tolist(), record.down_s.tolist()) == ([3], [1], [420.0])
