import pytest

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.server import Unavailability
from libs.reconcile.errors import StaleGeneration
from libs.store import audit
from libs.store.database import Database
from libs.store.refusals import NotFound, NotPossible
from libs.store.servers import InUse, ServerFilter, list_servers, load_server, set_in_use
from tests.builders.race import race
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

SPEC = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})


@pytest.fixture(autouse=True)
def snapshot(database: Database) -> FleetSnapshot:
    stored(database, region_image("east", reservations={"web": SPEC}, current={"server-00": "web"}))
    image = region_image(
        datacenters=2,
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": SPEC},
        current={"server-00": "web", "server-01": "web", "server-02": "gone"},
        target={"server-00": "web", "server-04": "web"},
        in_use={"server-01"},
        down={"server-07"},
    )
    return stored(database, image)


def listed(database: Database, **chosen: object) -> list[str]:
    with database.snapshot() as tx:
        return [server.name for server in list_servers(tx, "west", ServerFilter(**chosen)).items]


def test_a_server_says_where_it_stands_and_whose_it_is(database: Database) -> None:
    with database.snapshot() as tx:
        one, other = load_server(tx, "west", "server-01"), load_server(tx, "west", "server-06")
        with pytest.raises(NotFound, match="no server west/server-99"):
            load_server(tx, "west", "server-99")
    assert (one.region, one.datacenter, one.msb, one.rack) == ("west", "dc-00", "msb-00", "rack-00")
    assert (one.current_reservation, one.target_reservation, one.in_use) == ("web", None, True)
    assert (other.datacenter, other.msb, other.rack, other.hardware_type) == ("dc-01", "msb-01", "rack-03", "hw-b")


def test_servers_are_listed_by_what_they_are(database: Database) -> None:
    every = [f"server-{i:02d}" for i in range(8)]
    assert listed(database) == every
    assert listed(database, current_reservation="web") == ["server-00", "server-01"]
    assert listed(database, target_reservation="web") == ["server-00", "server-04"]
    assert listed(database, current_reservation="gone") == []
    assert listed(database, msb="msb-01") == every[4:]
    assert listed(database, rack="rack-02") == ["server-04", "server-05"]
    assert listed(database, hardware_type="hw-b") == ["server-02", "server-03", "server-06", "server-07"]
    assert listed(database, unavailability=Unavailability.UNPLANNED) == ["server-07"]
    assert listed(database, msb="msb-00", current_reservation="web", hardware_type="hw-b") == []
    assert listed(database, rack="rack-99") == []


def test_pages_follow_each_other_and_end(database: Database) -> None:
    found, cursor = [], None
    with database.snapshot() as tx:
        while True:
            page = list_servers(tx, "west", after=cursor, limit=3)
            found += [server.name for server in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        exact = list_servers(tx, "west", limit=8)
    assert found == [f"server-{i:02d}" for i in range(8)]
    assert exact.next_cursor is None


def test_an_allocator_says_what_is_in_use(database: Database) -> None:
    changes = [
        InUse(server="server-01", in_use=False, generation=1),
        InUse(server="server-00", in_use=True, generation=1),
    ]
    with database.write() as tx:
        after = set_in_use(tx, "west", changes, actor="k8s", now=NOW)
        assert [(s.name, s.in_use, s.generation) for s in after] == [("server-01", False, 2), ("server-00", True, 2)]
        again = [InUse(server="server-00", in_use=True, generation=2)]
        assert set_in_use(tx, "west", again, actor="k8s", now=NOW)[0].generation == 2
        entries = [entry for entry in audit.list_entries(tx, subject_kind="region").items if entry.actor == "k8s"]
        assert [entry.action for entry in entries] == ["set_in_use", "unset_in_use"]
        assert load_server(tx, "east", "server-00").in_use is False


def test_all_or_nothing(database: Database) -> None:
    good = InUse(server="server-00", in_use=True, generation=1)
    for bad, error in (
        (InUse(server="server-01", in_use=False, generation=7), StaleGeneration),
        (InUse(server="server-05", in_use=True, generation=1), NotPossible),
        (InUse(server="server-99", in_use=True, generation=1), NotFound),
        (good, NotPossible),
    ):
        with pytest.raises(error), database.write() as tx:
            set_in_use(tx, "west", [good, bad], actor="k8s", now=NOW)
    with database.snapshot() as tx:
        assert load_server(tx, "west", "server-00").in_use is False


def test_of_two_writers_at_one_generation_one_wins(database: Database) -> None:
    change = InUse(server="server-00", in_use=True, generation=1)
    outcomes = race(database, *[lambda tx: set_in_use(tx, "west", [change], actor="k8s", now=NOW)] * 2)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["StaleGeneration", "tuple"]
