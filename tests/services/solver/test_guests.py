"""A solve covers a host and its guests on the same servers, also after the loss of an MSB."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from libs.domain.reservation import Reservation, ReservationSpec
from libs.store.capacity.coverage import load_coverages
from libs.store.capacity.reservations import find_reservation
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from tests.builders.region import region_image
from tests.builders.stored import read, stored

RRU = {"web": {"hw-a": 1.0, "hw-b": 2.0}, "cache": {"hw-a": 4.0, "hw-b": 1.0}, "batch": {"hw-b": 10.0}}
SHARE = {"web": 0.5, "cache": 0.3, "batch": 0.2}
CAPACITY = {"web": 4.0, "cache": 6.0, "batch": 8.0}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """48 servers of two types in 4 MSBs; `web` is the host of `cache` and `batch`."""
    database = Database(database_url)
    specs = {
        name: ReservationSpec(
            capacity_rru=CAPACITY[name],
            rru=RRU[name],
            guest_of=None if name == "web" else "web",
            guest_share=None if name == "web" else SHARE[name],
        )
        for name in RRU
    }
    image = region_image(
        msbs=4, racks_per_msb=2, servers_per_rack=6, hardware_types=("hw-a", "hw-b"), reservations=specs
    )
    stored(database, image)
    yield database
    database.close()


def arrive(database: Database) -> None:
    """Let all servers join their targets."""
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET current_reservation_id = target_reservation_id"))


def found(database: Database, name: str) -> Reservation:
    with database.snapshot() as tx:
        reservation = find_reservation(tx, "west", name)
    assert reservation is not None
    return reservation


def counted(database: Database, name: str, *, without: str | None = None) -> tuple[float, float]:
    """Count the RRU of a reservation by hand, server by server: all, and without its fullest MSB."""
    query = """
        SELECT msbs.name AS msb, hardware_types.name AS type FROM servers JOIN racks USING (rack_id)
        JOIN msbs USING (msb_id) JOIN hardware_types USING (hardware_type_id)
        JOIN reservations ON reservation_id = current_reservation_id
        WHERE reservations.name = 'web' AND unavailability = 'none'"""
    with database.snapshot() as tx:
        servers = Counter((row.msb, row.type) for row in tx.execute(sa.text(query)))
    by_msb: dict[str, float] = defaultdict(float)
    for (msb, hardware_type), number in servers.items():
        if msb != without:
            by_msb[msb] += number * SHARE[name] * RRU[name].get(hardware_type, 0.0)
    return sum(by_msb.values()), sum(by_msb.values()) - max(by_msb.values(), default=0.0)


def lose(database: Database, msb: str) -> None:
    with database.write() as tx:
        query = """UPDATE servers SET unavailability = 'unplanned' WHERE rack_id IN (
                       SELECT rack_id FROM racks JOIN msbs USING (msb_id) WHERE msbs.name = :msb)"""
        tx.execute(sa.text(query), {"msb": msb})


def test_host_and_guests_keep_their_promises_after_the_loss_of_an_msb(
    database: Database, solver_of: Callable[[Database], SolveBindings]
) -> None:
    solver_of(database).reconcile()
    arrive(database)
    for name, capacity in CAPACITY.items():
        total, left = counted(database, name)
        assert left >= capacity, f"{name} would have {left} of {capacity}"
        held = found(database, name).held
        assert held.total_rru == pytest.approx(total)
        assert held.total_rru - held.worst_msb_rru == pytest.approx(left)
        assert held.shortfall_rru == 0
    assert found(database, "cache").held.servers == found(database, "web").held.servers
    fullest = found(database, "batch").held.worst_msb
    assert fullest is not None
    lose(database, fullest)
    for name, capacity in CAPACITY.items():
        total, _ = counted(database, name)
        assert total >= capacity, f"{name} has {total} of {capacity} without {fullest}"
        assert found(database, name).held.total_rru == pytest.approx(total)
        assert found(database, name).held.keeps(capacity)


def test_servers_are_bound_to_the_host_alone(
    database: Database, solver_of: Callable[[Database], SolveBindings]
) -> None:
    solver_of(database).reconcile()
    region = read(database)
    assert region.reservations.name.tolist() == ["web"]
    assert [guest.name for guest in region.guests] == ["cache", "batch"]
    assert region.reservations.rru.tolist() == [[0.5, 1.0]]
    assert set(region.servers.target.tolist()) == {-1, 0}


def test_each_has_a_finding_under_its_own_name(
    database: Database, solver_of: Callable[[Database], SolveBindings]
) -> None:
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 100 WHERE name = 'batch'"))
    solver_of(database).reconcile()
    findings = {name: found(database, name).finding for name in RRU}
    assert findings["cache"] is not None
    assert findings["batch"] is not None
    assert findings["web"] is not None
    assert findings["cache"].phase == "granted"
    assert findings["cache"].message.startswith("On the servers of web: its share of ")
    assert findings["batch"].phase == "degraded"
    assert findings["batch"].message.startswith("On the servers of web: ")
    assert "of 100 RRU of its guest batch" in findings["web"].message
    _, left = counted_by_target(database)
    assert findings["batch"].numbers["short_rru"] == pytest.approx(100 - left)
    assert "guest:" not in str(findings)


def counted_by_target(database: Database) -> tuple[float, float]:
    arrive(database)
    return counted(database, "batch")


def test_ways_to_count_agree(database: Database, solver_of: Callable[[Database], SolveBindings]) -> None:
    solver_of(database).reconcile()
    with database.snapshot() as tx:
        ids = {name: find_reservation(tx, "west", name).reservation_id for name in RRU}  # type: ignore[union-attr]
        together = load_coverages(tx, list(ids.values()))
        for reservation_id in ids.values():
            alone = load_coverages(tx, [reservation_id])
            for which in ("current", "target", "held"):
                assert alone[which][reservation_id] == together[which][reservation_id]
