"""The loss of a domain on a real database: its moment, the wait, the rebuilding, and what goes back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from libs.domain.domain_kind import MSB_KIND
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.interchange.bundles.solve import load_bundle
from libs.store.capacity.reservations import find_reservation
from libs.store.fleet.lost_domains import load_lost_domains
from libs.store.fleet.unavailability_events import end_event, list_events, open_event
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.clock import ManualClock
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """web holds four of the five servers in each of four MSBs: 12, and the embedded buffer of four."""
    database = Database(database_url)
    servers = [f"server-{k:02d}" for k in range(20)]
    spec = ReservationSpec(capacity_rru=12, rru={"hw-a": 1.0})
    current = {name: "web" for k, name in enumerate(servers) if k % 5}
    stored(database, region_image(msbs=4, servers_per_rack=5, reservations={"web": spec}, current=current))
    yield database
    database.close()


def lose(database: Database, clock: ManualClock, scope: str, name: str) -> None:
    with database.write() as tx:
        open_event(
            tx,
            "west",
            scope=scope,
            scope_name=name,
            kind=Unavailability.UNPLANNED,
            reason="fire",
            starts_at=clock.now(),
            ends_at=None,
            actor="health",
            now=clock.now(),
        )


def lost(database: Database, clock: ManualClock) -> dict[str, object]:
    with database.snapshot() as tx:
        return dict(load_lost_domains(tx, "west", now=clock.now())[MSB_KIND])


def solved(database: Database, clock: ManualClock, folder: Path) -> tuple[int, str]:
    """Solve, and return the number of bound servers, and the reason of what web has."""
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": folder / "bundles"})
    SolveBindings(database, clock, settings, "west", "test").reconcile()
    with database.snapshot() as tx:
        web = find_reservation(tx, "west", "web")
    assert web is not None
    assert web.finding is not None
    return len(targets(read(database))), web.finding.reason


def test_the_buffer_waits_is_rebuilt_and_goes_back(database: Database, tmp_path: Path) -> None:
    clock = ManualClock()

    def solve() -> tuple[int, str]:
        return solved(database, clock, tmp_path)

    assert solve() == (16, "Granted")
    lose(database, clock, UnavailabilityScope.MSB, "msb-00")
    clock.sleep(timedelta(hours=3).total_seconds())
    assert solve() == (16, "MsbAwaited")
    with database.snapshot() as tx:
        run = list_solve_runs(tx, region="west", after=None, limit=1).items[0]
    assert load_bundle(Path(str(run.bundle))).region.snapshot.servers.awaited.sum() == 4
    clock.sleep(timedelta(hours=2).total_seconds())
    assert solve() == (19, "NoFreeServers")
    with database.write() as tx:
        event = list_events(tx, "west").items[0]
        end_event(tx, event.unavailability_event_id, generation=event.generation, actor="health", now=clock.now())
    assert solve() == (16, "Granted")


def test_the_moment_of_a_loss_server_by_server_is_that_of_the_last(database: Database) -> None:
    clock = ManualClock()
    for k in range(5):
        assert lost(database, clock) == {}
        clock.sleep(60)
        lose(database, clock, UnavailabilityScope.SERVER, f"server-0{k}")
    last = clock.now()
    clock.sleep(600)
    assert lost(database, clock) == {"msb-00": last}
    lose(database, clock, UnavailabilityScope.DATACENTER, "dc-00")
    assert set(lost(database, clock)) == {"msb-00", "msb-01", "msb-02", "msb-03"}


BLOCKS = {"block": {f"server-{k:02d}": f"b{k % 5}" for k in range(20)}}
"""web holds no server of b0, and all four of each other block, one in each MSB."""


def test_a_block_is_lost_with_its_last_server_by_events_of_any_scope(database_url: str) -> None:
    """b1 has one server of each MSB: one is down by itself and with its rack, and others with MSBs and a datacenter."""
    clock, database = ManualClock(), Database(database_url)
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_loss_of=("block",))
    image = region_image(datacenters=2, msbs=4, servers_per_rack=5, reservations={"web": spec}, domains=BLOCKS)
    stored(database, image)
    for scope, name in (
        (UnavailabilityScope.SERVER, "server-01"),
        (UnavailabilityScope.RACK, "rack-00"),
        (UnavailabilityScope.MSB, "msb-01"),
        (UnavailabilityScope.DATACENTER, "dc-01"),
        (UnavailabilityScope.MSB, "msb-03"),
    ):
        clock.sleep(60)
        lose(database, clock, scope, name)
    with database.snapshot() as tx:
        found = load_lost_domains(tx, "west", now=clock.now())["block"]
    assert found == dict.fromkeys(("b0", "b1", "b2", "b3", "b4"), clock.now() - timedelta(seconds=60))
    database.close()


def test_events_of_blocks_tell_when_blocks_and_msbs_were_lost(database_url: str) -> None:
    """Each MSB has one server of each of five blocks, so the last block takes the MSBs with it."""
    clock, database = ManualClock(), Database(database_url)
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_loss_of=("block",))
    stored(database, region_image(msbs=4, servers_per_rack=5, reservations={"web": spec}, domains=BLOCKS))
    begun = {}
    for k in range(5):
        clock.sleep(60)
        lose(database, clock, "block", f"b{k}")
        begun[f"b{k}"] = clock.now()
        with database.snapshot() as tx:
            found = load_lost_domains(tx, "west", now=clock.now())
        assert found["block"] == begun
        assert set(found[MSB_KIND]) == (set() if k < 4 else {"msb-00", "msb-01", "msb-02", "msb-03"})
    assert set(found[MSB_KIND].values()) == {clock.now()}
    clock.sleep(60)
    lose(database, clock, "block", "b0")  # reported again
    with database.snapshot() as tx:
        assert load_lost_domains(tx, "west", now=clock.now()) == found
    database.close()


@pytest.mark.parametrize("as_one", [False, True])
def test_the_buffer_for_a_block_waits_and_is_rebuilt(database_url: str, tmp_path: Path, as_one: bool) -> None:
    """Whether its servers were reported one by one, or the block by one event."""
    clock, database = ManualClock(), Database(database_url)
    spec = ReservationSpec(capacity_rru=12, rru={"hw-a": 1.0}, survives_loss_of=("block",))
    current = {f"server-{k:02d}": "web" for k in range(20) if k % 5}
    stored(
        database,
        region_image(msbs=4, servers_per_rack=5, reservations={"web": spec}, current=current, domains=BLOCKS),
    )
    assert solved(database, clock, tmp_path) == (16, "Granted")
    blocks = [("block", "b1")]
    servers = [(UnavailabilityScope.SERVER, f"server-{k:02d}") for k in range(1, 20, 5)]
    for scope, name in blocks if as_one else servers:
        clock.sleep(60)
        lose(database, clock, scope, name)
    with database.snapshot() as tx:
        assert load_lost_domains(tx, "west", now=clock.now()) == {MSB_KIND: {}, "block": {"b1": clock.now()}}
    clock.sleep(timedelta(hours=3).total_seconds())
    assert solved(database, clock, tmp_path) == (16, "DomainAwaited")
    with database.snapshot() as tx:
        web = find_reservation(tx, "west", "web")
    assert web is not None
    assert web.finding is not None
    assert "covers the loss of a block with 4 of its servers" in web.finding.message
    clock.sleep(timedelta(hours=2).total_seconds())
    bound, reason = solved(database, clock, tmp_path)
    assert bound > 16
    assert reason != "DomainAwaited"
    database.close()
