"""Test replacements on a real database: from the report of a failure to the targets, and back after the repair."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.plan import PlanKind
from libs.domain.region_condition import ConditionStatus
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers import InUse, ServerFilter, list_servers, set_in_use
from libs.store.fleet.unavailability_events import open_event
from libs.store.moves.replacement_need import find_failures
from libs.store.plans.plans import list_plans
from libs.store.platform.database import Database
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability
from services.mover.reconcilers import draw_replacements
from tests.builders.clock import ManualClock
from tests.builders.lost_servers import CURRENT, SPECS, LostServers
from tests.builders.region import region_image


@pytest.fixture
def region(database: Database, clock: ManualClock) -> LostServers:
    return LostServers(database, clock)


def test_a_failed_server_is_replaced_and_joins_the_buffer_when_it_is_mended(region: LostServers) -> None:
    event = region.fail(UnavailabilityScope.SERVER, "server-01")
    assert region.jobs() == {"draw_replacements"}, "asked for with the event"
    assert region.draw() == {"drawn": 1}
    after = region.targets()
    assert after == {**CURRENT, "server-01": "spare", "server-10": "web"}
    assert "move" in region.jobs(), "the mover is woken"
    with region.database.snapshot() as tx:
        (plan,) = list_plans(tx, "west", kind=PlanKind.REPLACEMENT).items
        assert load_region(tx, "west").target_plan_id == plan.parent_plan_id, "the lineage stays where it is"
    assert (plan.changes, plan.left_alone) == (2, 0)
    assert region.draw() == {}, "once is enough"
    region.mend(event)
    assert region.draw() == {}
    assert region.targets() == after, "web is not given more than it had"


def test_a_spare_server_that_does_not_move_replaces_no_other(region: LostServers) -> None:
    with region.database.write() as tx:
        failed = """INSERT INTO moves (region_id, server_id, to_reservation_id, steps, status, reason, dead_letter,
                                       step_started_at, created_at)
                    SELECT region_id, server_id, target_reservation_id, '{host_profile}', 'failed',
                           'no_answer: host_profile', 'open', now(), now() FROM servers WHERE name = 'server-10'"""
        tx.execute(sa.text(failed))
    region.fail(UnavailabilityScope.SERVER, "server-00")
    region.fail(UnavailabilityScope.SERVER, "server-01")
    assert region.draw() == {"drawn": 1, "buffer_empty": 1}
    assert region.targets()["server-11"] == "web"
    with region.database.write() as tx:
        tx.execute(sa.text("UPDATE moves SET dead_letter = 'retried'"))
    assert region.draw() == {"drawn": 1}
    assert region.targets()["server-10"] == "web"


def test_a_replaced_server_has_the_fleet_read_only_while_its_msb_may_be_lost(region: LostServers) -> None:
    def reads_fleet() -> bool:
        with region.database.snapshot() as tx:
            return find_failures(tx, "west", now=region.clock.now()) is not None

    region.fail(UnavailabilityScope.SERVER, "server-01")
    assert reads_fleet()
    assert region.draw() == {"drawn": 1}
    assert not reads_fleet()
    region.fail(UnavailabilityScope.SERVER, "server-04")
    assert not reads_fleet(), "a quarter of the MSB is down"
    region.fail(UnavailabilityScope.SERVER, "server-05")
    assert reads_fleet(), "more than a quarter is down"


def test_a_rack_draws_for_each_of_its_servers_and_says_what_the_buffer_could_not(region: LostServers) -> None:
    region.fail(UnavailabilityScope.RACK, "rack-00")
    assert region.draw() == {"drawn": 2, "buffer_empty": 2}
    condition = region.condition()
    assert (condition.status, condition.reason) == (ConditionStatus.FALSE, "SharedBufferExhausted")
    assert condition.numbers == {"buffer_empty": 2, "lacking": {"hw-a": 2}}
    assert "2 hw-a" in condition.message
    since = condition.changed_at
    region.clock.sleep(60.0)
    assert region.draw() == {"buffer_empty": 2}
    assert region.condition().changed_at == since


@pytest.mark.parametrize(
    ("scope", "name"), [(UnavailabilityScope.MSB, "msb-00"), (UnavailabilityScope.DATACENTER, "dc-00")]
)
def test_what_was_lost_with_its_place_draws_nothing(region: LostServers, scope: UnavailabilityScope, name: str) -> None:
    one = region.fail(UnavailabilityScope.SERVER, "server-08")
    region.fail(scope, name)
    lost = 5 if scope is UnavailabilityScope.MSB else 6
    drawn = region.draw()
    assert drawn.get("with_place", 0) == (4 if scope is UnavailabilityScope.MSB else 6)
    assert sum(drawn.values()) == lost
    assert region.targets()["server-00"] == "web"
    region.mend(one)


def test_planned_maintenance_draws_nothing_and_gives_no_spare_servers(region: LostServers) -> None:
    region.fail(UnavailabilityScope.SERVER, "server-01", Unavailability.PLANNED)
    assert region.jobs() == set()
    assert region.draw() == {}
    region.fail(UnavailabilityScope.SERVER, "server-10", Unavailability.PLANNED)
    region.fail(UnavailabilityScope.SERVER, "server-02")
    assert region.draw() == {"drawn": 1}
    assert region.targets()["server-11"] == "web"
    assert region.targets()["server-10"] == "spare"


def test_a_failure_announced_for_later_draws_when_it_begins(region: LostServers) -> None:
    with region.database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-01",
            kind=Unavailability.UNPLANNED,
            reason="disk going",
            starts_at=region.clock.now() + timedelta(hours=1),
            ends_at=None,
            actor="health",
            now=region.clock.now(),
        )
    assert region.draw() == {}
    assert region.jobs() == set()
    region.clock.sleep(3600.0)
    RefreshUnavailability(region.database, region.clock, "west").reconcile()
    assert region.jobs() == {"draw_replacements"}
    assert region.draw() == {"drawn": 1}


def test_a_spare_server_that_is_mended_is_drawn_without_waiting_for_the_next_minute(region: LostServers) -> None:
    down = [region.fail(UnavailabilityScope.SERVER, name) for name in ("server-10", "server-11")]
    region.fail(UnavailabilityScope.SERVER, "server-01")
    assert region.draw() == {"buffer_empty": 1}
    region.forget_jobs()
    other = region.fail(UnavailabilityScope.SERVER, "server-05", Unavailability.PLANNED)
    region.mend(other)
    assert region.jobs() == set(), "a free server replaces nothing"
    region.mend(down[0])
    assert region.jobs() == {"draw_replacements"}
    assert region.draw() == {"drawn": 1}


def test_whoever_changes_a_server_meanwhile_makes_it_look_again(
    region: LostServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    region.fail(UnavailabilityScope.SERVER, "server-01")
    real, looks = draw_replacements.plan_replacements, []

    def meddle(failures: object) -> object:
        looks.append(failures)
        if len(looks) == 1:
            with region.database.snapshot() as tx:
                (spare,) = list_servers(tx, "west", ServerFilter(name="server-10")).items
            with region.database.write() as tx:
                change = InUse(server_id=spare.server_id, in_use=True, generation=spare.generation)
                set_in_use(tx, [change], actor="allocator", now=region.clock.now())
        return real(failures)

    monkeypatch.setattr(draw_replacements, "plan_replacements", meddle)
    assert region.draw() == {"drawn": 1}
    assert len(looks) == 2
    assert len(region.targets()) == len(CURRENT)


def test_it_gives_up_when_others_are_always_quicker(region: LostServers, monkeypatch: pytest.MonkeyPatch) -> None:
    region.fail(UnavailabilityScope.SERVER, "server-01")
    real = draw_replacements.plan_replacements

    def meddle(failures: object) -> object:
        with region.database.write() as tx:
            tx.execute(sa.text("UPDATE servers SET in_use = NOT in_use WHERE name = 'server-10'"))
        return real(failures)

    monkeypatch.setattr(draw_replacements, "plan_replacements", meddle)
    with pytest.raises(StaleGeneration):
        region.draw()
    assert region.targets() == CURRENT


@pytest.fixture
def surviving(database: Database, clock: ManualClock) -> LostServers:
    """Web survives the loss of an MSB: it holds two servers in each rack of two MSBs, and needs four."""
    web = {f"server-{i:02d}": "web" for i in (0, 1, 4, 5, 8, 9, 12, 13)}
    specs = {"web": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}), "spare": SPECS["spare"]}
    current = web | {"server-10": "spare", "server-11": "spare"}
    image = region_image(racks_per_msb=2, reservations=specs, current=current, kind={"spare": "shared_buffer"})
    return LostServers(database, clock, image)


def test_what_was_drawn_goes_back_when_the_msb_is_lost(surviving: LostServers) -> None:
    before = surviving.targets()
    surviving.fail(UnavailabilityScope.SERVER, "server-00")
    assert surviving.draw() == {"drawn": 1}
    assert surviving.targets()["server-10"] == "web"
    surviving.fail(UnavailabilityScope.MSB, "msb-00")
    assert surviving.draw() == {"with_place": 3}
    assert surviving.targets() == before
    assert surviving.draw() == {"with_place": 4}, "once is enough"


def test_an_msb_that_is_lost_rack_by_rack_draws_nothing(surviving: LostServers) -> None:
    surviving.fail(UnavailabilityScope.RACK, "rack-00")
    surviving.fail(UnavailabilityScope.RACK, "rack-01")
    assert surviving.draw() == {"with_place": 4}
    assert surviving.condition().reason == "NothingMissing"


def test_a_burst_of_failures_waits_and_the_region_says_so(database: Database, clock: ManualClock) -> None:
    current = {f"server-{i:02d}": "web" for i in range(6)} | {"server-40": "spare"}
    image = region_image(
        racks_per_msb=8, reservations=SPECS, current=current, kind={"spare": "shared_buffer"}, servers_per_rack=4
    )
    region = LostServers(database, clock, image)
    for name in ("server-00", "server-04", "server-08", "server-12"):
        region.fail(UnavailabilityScope.SERVER, name)
    assert region.draw() == {"held": 2}
    condition = region.condition()
    assert (condition.status, condition.reason) == (ConditionStatus.UNKNOWN, "MsbSuspected")
    assert "msb-00" in condition.message
    clock.sleep(300.0)
    assert region.draw() == {"drawn": 1, "buffer_empty": 1}


BLOCKS = {"block": {f"server-{i:02d}": f"b{i % 4}" for i in range(64)}}
"""Each of four blocks has a server of each rack."""


@pytest.fixture
def of_blocks(database: Database, clock: ManualClock) -> LostServers:
    """web holds four servers in b0 and b1, two in b2 and b3, and needs eight after the loss of one. Two are spare."""
    web = replace(SPECS["web"], capacity_rru=8, survives_msb_loss=False, survives_loss_of=("block",))
    current = {f"server-{i:02d}": "web" for i in (*range(6), *range(32, 38))}
    image = region_image(
        racks_per_msb=8,
        reservations={**SPECS, "web": web},
        current=current | {"server-61": "spare", "server-63": "spare"},
        kind={"spare": "shared_buffer"},
        domains=BLOCKS,
    )
    return LostServers(database, clock, image)


def test_a_burst_in_a_block_waits_and_the_region_says_so(of_blocks: LostServers, clock: ManualClock) -> None:
    for name in ("server-00", "server-04", "server-32", "server-36"):
        of_blocks.fail(UnavailabilityScope.SERVER, name)
    assert of_blocks.draw() == {"held": 4}
    condition = of_blocks.condition()
    assert (condition.status, condition.reason) == (ConditionStatus.UNKNOWN, "DomainSuspected")
    assert "Lost servers of block b0 wait" in condition.message
    assert "no loss of a block" in condition.message
    clock.sleep(300.0)
    assert of_blocks.draw() == {"drawn": 2, "buffer_empty": 2}


def test_what_was_drawn_goes_back_when_the_block_is_lost(of_blocks: LostServers) -> None:
    before = of_blocks.targets()
    of_blocks.fail(UnavailabilityScope.SERVER, "server-00")
    assert of_blocks.draw() == {"drawn": 1}
    for i in range(4, 64, 4):
        of_blocks.fail(UnavailabilityScope.SERVER, f"server-{i:02d}")
    assert of_blocks.draw() == {"with_place": 3}
    assert of_blocks.targets() == before


def test_servers_that_an_import_lists_as_down_are_no_burst(database: Database, clock: ManualClock) -> None:
    current = {f"server-{i:02d}": "web" for i in range(6)} | {"server-40": "spare", "server-41": "spare"}
    down = {"server-08", "server-12", "server-16", "server-20"}
    image = region_image(
        racks_per_msb=8, reservations=SPECS, current=current, kind={"spare": "shared_buffer"}, down=down
    )
    region = LostServers(database, clock, image)
    region.fail(UnavailabilityScope.SERVER, "server-00")
    assert region.draw() == {"drawn": 1}
