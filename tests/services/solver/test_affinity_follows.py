"""A solve sets the shares of a reservation that follows another one, and moves its servers there."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.capacity.followed_shares import follow_holdings
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from tests.builders.region import region_image
from tests.builders.stored import read, stored

IN_FIRST = [f"server-{i:02d}" for i in range(4)]
IN_SECOND = [f"server-{i:02d}" for i in range(8, 12)]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Two datacenters of two MSBs with 4 servers each. `storage` has 4 servers of its own type in the first MSB."""
    database = Database(database_url)
    specs = {
        "storage": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "web": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity_follows="storage"),
    }
    image = region_image(
        datacenters=2, msbs=4, racks_per_msb=1, servers_per_rack=4, reservations=specs, current={IN_FIRST[0]: "storage"}
    )
    stored(database, image)
    yield database
    database.close()


def shares(database: Database) -> list[float]:
    [row] = [row for row, name in enumerate(read(database).reservations.name) if name == "web"]
    return read(database).reservations.affinity_share[row].tolist()


def places(database: Database, name: str) -> Counter[str]:
    region = read(database)
    row = region.reservations.name.tolist().index(name)
    return Counter(region.topology.datacenters[region.server_datacenter[region.servers.target == row]].tolist())


def bind(database: Database, name: str, servers: list[str]) -> None:
    with database.write() as tx:
        change = """UPDATE servers SET target_reservation_id = NULL, current_reservation_id = NULL
                    WHERE target_reservation_id = (SELECT reservation_id FROM reservations WHERE name = :name)"""
        tx.execute(sa.text(change), {"name": name})
        change = """UPDATE servers
                    SET target_reservation_id = (SELECT reservation_id FROM reservations WHERE name = :name)
                    WHERE name = ANY(:servers)"""
        tx.execute(sa.text(change), {"name": name, "servers": servers})


def follow(database: Database) -> list[float]:
    with database.write() as tx:
        follow_holdings(tx, load_region(tx, "west").region_id)
    return shares(database)


def test_the_servers_go_where_the_other_one_goes(
    database: Database, solver_of: Callable[[Database], SolveBindings]
) -> None:
    for servers, wanted in ((IN_FIRST[:2], "dc-00"), (IN_SECOND[:2], "dc-01")):
        bind(database, "storage", servers)
        solver_of(database).reconcile()
        assert places(database, "storage") == {wanted: 2}
        assert places(database, "web") == {wanted: 3}


def test_the_shares_are_those_of_the_targets_and_stay_without_any(database: Database) -> None:
    bind(database, "storage", [*IN_FIRST[:3], IN_SECOND[0]])
    assert follow(database) == [0.75, 0.25]
    bind(database, "storage", [IN_SECOND[0]])
    assert follow(database) == [0.0, 1.0]
    bind(database, "storage", [])
    assert follow(database) == [0.0, 1.0]
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET deleted_at = now() WHERE name = 'storage'"))
    assert follow(database) == [0.0, 1.0]


def test_no_generation_rises(database: Database) -> None:
    before = read(database).reservations.generation.tolist()
    bind(database, "storage", IN_SECOND)
    follow(database)
    assert read(database).reservations.generation.tolist() == before
