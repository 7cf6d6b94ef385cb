"""Test that a region is read again only if something changed that decides about its lost servers."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.plan import PlanKind
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import UnavailabilityScope
from libs.store.fleet.regions import load_region
from libs.store.moves.replacement_need import find_failures
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from services.mover.reconcilers import draw_replacements
from services.mover.reconcilers.draw_replacements import TRUSTED_FOR, LastDecisions
from tests.builders.clock import ManualClock
from tests.builders.lost_servers import CURRENT, SPECS, LostServers
from tests.builders.region import region_image
from tests.builders.stored import plan_of, read


class Reads:
    """Counts how often the whole region is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number, real = 0, draw_replacements.load_failures

        def load(*given: object) -> object:
            self.number += 1
            return real(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(draw_replacements, "load_failures", load)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture
def region(database: Database, clock: ManualClock, reads: Reads) -> LostServers:
    """A server waits for its repair, because the whole buffer is down too."""
    region = LostServers(database, clock)
    for name in ("server-10", "server-11", "server-01"):
        region.fail(UnavailabilityScope.SERVER, name)
    assert region.draw() == {"buffer_empty": 1}
    assert reads.number == 1
    return region


def ground(region: LostServers) -> str:
    with region.database.snapshot() as tx:
        found = find_failures(tx, "west", now=region.clock.now())
    assert found is not None
    return found.ground


def run(region: LostServers, *statements: str) -> None:
    with region.database.write() as tx:
        for statement in statements:
            tx.execute(sa.text(statement))


def test_an_unchanged_region_is_not_read_again(region: LostServers, reads: Reads) -> None:
    for _ in range(3):
        region.clock.sleep(60)
        assert region.draw() == {"buffer_empty": 1}
        assert region.condition().reason == "SharedBufferExhausted"
    run(region, "UPDATE servers SET in_use = true WHERE name = 'server-02'")
    run(region, "UPDATE servers SET unclean = true WHERE name = 'server-15'")
    assert region.draw() == {"buffer_empty": 1}
    assert reads.number == 1, "an allocator's and a mover's daily work decides nothing here"


def test_another_process_reads_it_once(region: LostServers, reads: Reads) -> None:
    region.last = LastDecisions()
    for _ in range(2):
        assert region.draw() == {"buffer_empty": 1}
    assert reads.number == 2


def test_what_another_process_said_meanwhile_is_put_right(region: LostServers) -> None:
    run(region, "UPDATE region_conditions SET status = 'True', reason = 'NothingMissing', message = ''")
    assert region.draw() == {"buffer_empty": 1}
    assert region.condition().reason == "SharedBufferExhausted"


def test_after_a_while_it_is_read_again_in_case_something_was_missed(region: LostServers, reads: Reads) -> None:
    region.clock.sleep(TRUSTED_FOR.total_seconds())
    assert region.draw() == {"buffer_empty": 1}
    assert reads.number == 2


def test_a_spare_server_that_is_mended_is_drawn_at_once(database: Database, clock: ManualClock) -> None:
    region = LostServers(database, clock)
    events = [region.fail(UnavailabilityScope.SERVER, f"server-{i:02d}") for i in (10, 11, 1)]
    assert region.draw() == {"buffer_empty": 1}
    region.mend(events[0])
    assert region.draw() == {"drawn": 1}
    assert region.targets()["server-10"] == "web"
    assert region.draw() == {}


def test_a_server_that_a_plan_gives_to_the_buffer_is_drawn_at_once(region: LostServers) -> None:
    snapshot = read(region.database)
    with region.database.write() as tx:
        commit_plan(
            tx,
            snapshot,
            plan_of(snapshot, {"server-15": "spare"}),
            kind=PlanKind.SOLVE,
            parent=snapshot.target_plan_id,
            now=region.clock.now(),
        )
    assert region.draw() == {"drawn": 1}
    assert region.targets()["server-15"] == "web"


def test_a_reservation_that_needs_its_server_only_now_gets_one(database: Database, clock: ManualClock) -> None:
    few = {**SPECS, "web": ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False)}
    kind = {"spare": "shared_buffer"}
    region = LostServers(database, clock, region_image(racks_per_msb=2, reservations=few, current=CURRENT, kind=kind))
    region.fail(UnavailabilityScope.SERVER, "server-01")
    assert region.draw() == {"covered": 1}
    run(region, "UPDATE reservations SET capacity_rru = 6 WHERE name = 'web'")
    assert region.draw() == {"drawn": 1}


def test_a_held_server_is_drawn_when_its_time_is_over(database: Database, clock: ManualClock) -> None:
    current = {f"server-{i:02d}": "web" for i in range(6)} | {"server-40": "spare", "server-41": "spare"}
    kind = {"spare": "shared_buffer"}
    region = LostServers(database, clock, region_image(racks_per_msb=8, reservations=SPECS, current=current, kind=kind))
    for name in ("server-00", "server-04", "server-08", "server-12"):
        region.fail(UnavailabilityScope.SERVER, name)
    assert region.draw() == {"held": 2}
    clock.sleep(timedelta(minutes=5).total_seconds())
    assert region.draw() == {"drawn": 2}


_OF_WEB = "SELECT region_id, reservation_id{} FROM reservations{} WHERE reservations.name = 'web'"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE servers SET unavailability = 'planned' WHERE name = 'server-15'",
        "UPDATE servers SET decommissioned_at = now(), unavailability = 'unplanned' WHERE name = 'server-15'",
        "UPDATE servers SET spare_for_reservation_id = (SELECT reservation_id FROM reservations WHERE name = 'web'), "
        "current_reservation_id = NULL WHERE name = 'server-10'",
        "UPDATE reservations SET survives_msb_loss = true WHERE name = 'web'",
        "UPDATE reservation_rru SET rru = 2",
        "DELETE FROM reservation_rru",
        "INSERT INTO reservation_datacenters (region_id, reservation_id, datacenter_id) "
        + _OF_WEB.format(", datacenter_id", " JOIN datacenters USING (region_id)"),
        "INSERT INTO reservation_domain_limits (region_id, reservation_id, kind, servers_max) "
        + _OF_WEB.format(", 'msb', 9", ""),
        "INSERT INTO reservation_resources (region_id, reservation_id, resource, amount) "
        + _OF_WEB.format(", 'cores', 9", ""),
        "UPDATE hardware_types SET attributes = '{\"cores\": 8}'",
        "UPDATE regions SET policy = policy || '{\"shared_buffer_share\": 0.5}'",
        "UPDATE unavailability_events SET starts_at = starts_at - interval '1 hour'",
        "INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, created_at) "
        "SELECT region_id, 'server', server_id, 'decommission', '', now(), now() FROM servers WHERE name = 'server-15'",
        "INSERT INTO moves (region_id, server_id, steps, status, dead_letter, step_started_at, created_at) "
        "SELECT region_id, server_id, '{join}', 'failed', 'open', now(), now() FROM servers WHERE name = 'server-15'",
        "INSERT INTO imports (region_id, mode, status, counts, attributes, proposed_by, created_at) "
        "SELECT region_id, 'merge', 'confirmed', '{}', '{}', 'olga', now() FROM regions",
    ],
)  # fmt: skip
def test_each_thing_that_decides_changes_the_fingerprint(region: LostServers, statement: str) -> None:
    before = ground(region)
    run(region, statement)
    assert ground(region) != before


def test_another_region_decides_nothing(region: LostServers, database: Database, clock: ManualClock) -> None:
    before = ground(region)
    LostServers(database, clock, region_image("east", reservations=SPECS, current={"server-01": "web"}))
    with database.snapshot() as tx:
        assert load_region(tx, "east").name == "east"
    assert ground(region) == before


def test_time_alone_changes_nothing(region: LostServers) -> None:
    before = ground(region)
    region.clock.sleep(3600)
    assert ground(region) == before
