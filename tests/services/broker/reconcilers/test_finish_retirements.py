"""Solves and moves empty racks ahead of a date. The racks leave or come back, on an injected clock."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from libs.domain.region_condition import ConditionStatus, RegionCondition, RegionConditionType
from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.domain.retirement import Retirement, RetirementKind, RetirementScope, RetirementStatus, condition_of
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.capacity.reservation_lists import ReservationFilter, list_reservations
from libs.store.capacity.reservations import find_reservation
from libs.store.capacity.shared_buffers import size_shared_buffers
from libs.store.fleet.hardware_types import ensure_hardware_types
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import announce_retirement, cancel_retirement, load_retirement
from libs.store.fleet.servers import InUse, ServerFilter, list_servers, set_in_use
from libs.store.fleet.unavailability_events import open_event
from libs.store.platform.database import Database
from libs.store.platform.refusals import AlreadyExists
from libs.store.regions.region_conditions import load_condition
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_summary import load_region_summary
from services.broker.reconcilers.finish_retirements import FinishRetirements
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.clock import ManualClock
from tests.builders.mover import POLICY, Scripted
from tests.builders.region import region_image
from tests.builders.stored import read, stored

WEB = ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0, "hw-b": 2.0})
RACK = RetirementScope.RACK


class World:
    """Four MSBs of two racks of three servers; `web` holds 8, of which three are in rack-00 and one is in use."""

    def __init__(self, database: Database, settings: SolverSettings) -> None:
        self.database, self.settings, self.clock = database, settings, ManualClock()
        held = [f"server-{i:02d}" for i in (0, 1, 2, 6, 7, 12, 13, 18)]
        stored(
            database,
            region_image(
                msbs=4,
                racks_per_msb=2,
                servers_per_rack=3,
                reservations={"web": WEB},
                current=dict.fromkeys(held, "web"),
                in_use=["server-00"],
            ),
        )

    def overdue(self) -> RegionCondition | None:
        with self.database.snapshot() as tx:
            region_id = load_region(tx, "west").region_id
            return load_condition(tx, region_id, RegionConditionType.RETIREMENTS_DONE)

    def announce(
        self, name: str = "rack-00", scope: RetirementScope = RACK, kind: str = "decommission", **more: object
    ) -> Retirement:
        known = {"to_hardware_type": None, "back_at": None, "due_at": self.clock.now() + timedelta(hours=6)}
        with self.database.write() as tx:
            return announce_retirement(
                tx,
                "west",
                scope=scope,
                scope_name=name,
                kind=RetirementKind(kind),
                reason="end of life",
                actor="olga",
                now=self.clock.now(),
                **(known | more),  # type: ignore[arg-type]
            )

    def solve(self) -> None:
        SolveBindings(self.database, self.clock, self.settings, "west", "test").reconcile()

    def move(self) -> None:
        actuator = Scripted()
        for _ in range(20):
            self.clock.sleep(60)
            AdvanceMoves(self.database, self.clock, actuator, POLICY, "west").reconcile()

    def finish(self) -> tuple[int, int]:
        return FinishRetirements(self.database, self.clock, "west").reconcile()

    def hour(self) -> tuple[int, int]:
        """Run a solve, its moves, and the tick; the reservation never has less than its capacity."""
        self.solve()
        self.require_whole()
        self.move()
        self.require_whole()
        self.clock.sleep(2400)
        return self.finish()

    def require_whole(self) -> None:
        with self.database.snapshot() as tx:
            for reservation in list_reservations(tx, ReservationFilter(region="west")).items:
                assert reservation.current.shortfall_rru == 0, f"{reservation.name} dipped"

    def retirement(self, one: Retirement) -> Retirement:
        with self.database.snapshot() as tx:
            return load_retirement(tx, one.retirement_id)

    def condition(self, one: Retirement) -> tuple[str, str]:
        said = condition_of(self.retirement(one), self.clock.now())
        return said.reason, said.message

    def servers(self, **chosen: object) -> list[str]:
        with self.database.snapshot() as tx:
            page = list_servers(tx, "west", ServerFilter(**chosen))  # type: ignore[arg-type]
        return [server.name for server in page.items]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def world(database: Database, tmp_path: Path) -> World:
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles", "PLIMSOLL_BUNDLES_MAX": 2})
    return World(database, settings)


def test_a_whole_msb_is_emptied_and_leaves(world: World) -> None:
    one = world.announce("msb-00", RetirementScope.MSB)
    assert world.retirement(one).held == {"web": 3}
    assert read(world.database).servers.leaving.tolist() == [True] * 6 + [False] * 18
    for _ in range(7):
        world.hour()
    assert world.retirement(one).status is RetirementStatus.DONE
    assert world.servers(msb="msb-00") == []
    assert len(world.servers()) == 18


def test_a_datacenter_is_emptied_as_far_as_the_rest_carries(world: World) -> None:
    one = world.announce("dc-00", RetirementScope.DATACENTER, due_at=world.clock.now())
    assert read(world.database).servers.leaving.all()
    assert (world.retirement(one).servers, world.retirement(one).held) == (24, {"web": 8})
    assert world.finish() == (0, 1)
    assert world.condition(one)[0] == "Overdue"
    with pytest.raises(AlreadyExists):
        world.announce("dc-00", RetirementScope.DATACENTER)


def test_a_rack_is_emptied_without_a_dip_and_leaves_when_due(world: World) -> None:
    retirement = world.announce()
    assert world.condition(retirement)[0] == "Emptying"
    assert "still held: web 3" in world.condition(retirement)[1]
    assert read(world.database).servers.leaving.sum() == 3

    world.solve()  # binds the successors, and releases nothing before they are there
    assert len(world.servers(current_reservation="web", rack="rack-00")) == 3
    assert len(world.servers(target_reservation="web", rack="rack-00")) == 3
    assert world.hour() == (0, 0)
    assert world.hour() == (0, 0)
    assert world.servers(current_reservation="web", rack="rack-00") == []
    assert world.condition(retirement)[0] == "Empty"

    while world.clock.now() < retirement.due_at:
        world.clock.sleep(600)
    assert world.finish() == (1, 0)
    assert world.finish() == (0, 0)
    assert world.overdue() is None, "none was ever overdue"
    done = world.retirement(retirement)
    assert (done.status, done.finished_at) == (RetirementStatus.DONE, world.clock.now())
    assert world.condition(retirement) == ("Done", "It left the fleet.")
    assert world.servers(rack="rack-00") == []
    assert len(world.servers(rack="rack-00", decommissioned=True)) == 3
    snapshot = read(world.database)
    assert len(snapshot.servers) == 21
    with world.database.snapshot() as tx:
        assert len(load_region_image(tx, "west").server_host_profile) == 21
        [by_type] = load_region_summary(tx, "west").hardware_types
    assert (by_type.servers, by_type.unavailable) == (21, 0)
    world.solve()
    world.require_whole()
    with world.database.write() as tx:
        size_shared_buffers(tx, load_region(tx, "west").region_id, share=0.5, now=world.clock.now())
        [buffer] = list_reservations(tx, ReservationFilter(region="west", kind=ReservationKind.SHARED_BUFFER)).items
    assert buffer.spec.capacity_rru == 11  # half of 21, rounded up


def test_what_is_not_empty_when_due_stays_and_is_said(world: World) -> None:
    for rack in range(1, 8):  # the whole region is announced, so there are no successors
        world.announce(f"rack-{rack:02d}", due_at=world.clock.now() + timedelta(days=9))
    retirement = world.announce(due_at=world.clock.now() + timedelta(hours=1))
    assert world.hour() == (0, 1)
    assert world.hour() == (0, 1)
    reason, message = world.condition(retirement)
    assert reason == "Overdue"
    assert "is not empty: still held: web 3" in message
    assert "It waits until then" in message
    told = world.overdue()
    assert told is not None
    assert (told.status, told.reason) == (ConditionStatus.FALSE, "Overdue")
    assert message in told.message
    assert told.numbers == {"overdue": 1, "retirement_ids": [retirement.retirement_id]}
    assert len(world.servers(current_reservation="web", rack="rack-00")) == 3
    with world.database.write() as tx:
        cancel_retirement(
            tx, retirement.retirement_id, generation=retirement.generation, actor="olga", now=world.clock.now()
        )
    assert world.finish() == (0, 0)
    assert world.condition(retirement) == ("Cancelled", "Its servers stay in the fleet.")
    told = world.overdue()
    assert told is not None
    assert told.status is ConditionStatus.TRUE


def test_a_refreshed_rack_is_away_and_comes_back_as_another_type(world: World) -> None:
    with world.database.write() as tx:
        ensure_hardware_types(tx, ["hw-b"], now=world.clock.now())
    due = world.clock.now() + timedelta(hours=4)
    retirement = world.announce(
        kind="refresh", to_hardware_type="hw-b", due_at=due, back_at=world.clock.now() + timedelta(hours=30)
    )
    done = [world.hour() for _ in range(4)]
    assert done == [(0, 0), (0, 0), (0, 0), (1, 0)]
    assert world.servers(rack="rack-00", hardware_type="hw-b") == ["server-00", "server-01", "server-02"]
    down = {"unavailability": Unavailability.UNPLANNED}
    assert len(world.servers(rack="rack-00", **down)) == 3
    world.clock.sleep(30 * 3600)
    assert RefreshUnavailability(world.database, world.clock, "west").reconcile() == 3
    assert world.servers(rack="rack-00", **down) == []
    assert world.condition(retirement)[1] == "It became hw-b."


def test_the_machine_that_comes_back_has_no_known_host_profile(world: World) -> None:
    with world.database.write() as tx:
        ensure_hardware_types(tx, ["hw-b"], now=world.clock.now())
    now = world.clock.now()
    world.announce("server-23", RetirementScope.SERVER, kind="refresh", to_hardware_type="hw-b", due_at=now)
    assert world.finish() == (1, 0)
    with world.database.snapshot() as tx:
        (server,) = list_servers(tx, "west", ServerFilter(name="server-23")).items
        web = find_reservation(tx, "west", "web")
    assert web is not None
    assert server.host_profile not in ("", "default", web.spec.host_profile), "so its next reservation sets it up"


def test_a_server_that_is_down_holds_nothing_and_its_name_may_come_again(world: World) -> None:
    with world.database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-18",
            kind=Unavailability.UNPLANNED,
            reason="dead",
            starts_at=world.clock.now(),
            ends_at=None,
            actor="health",
            now=world.clock.now(),
        )
    world.announce("server-18", RetirementScope.SERVER, due_at=world.clock.now())
    assert world.finish() == (0, 1)  # its target still shows that web needs it
    world.solve()
    world.move()
    world.solve()
    assert world.finish() == (1, 0)
    assert world.servers(name="server-18") == []
    assert RefreshUnavailability(world.database, world.clock, "west").reconcile() == 0
    [event] = world.servers(name="server-18", decommissioned=True)
    assert event == "server-18"


def test_whoever_read_a_server_before_it_left_writes_nothing_to_it(world: World) -> None:
    before = read(world.database)
    world.announce("server-23", RetirementScope.SERVER, due_at=world.clock.now())
    assert world.finish() == (1, 0)
    row = int((before.servers.name == "server-23").argmax())
    change = InUse(server_id=int(before.servers.id[row]), in_use=False, generation=int(before.servers.generation[row]))
    with world.database.write() as tx, pytest.raises(Exception, match="generation"):
        set_in_use(tx, [change], actor="alloc", now=world.clock.now())
