import pytest

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.servers import InUse, ServerFilter, list_servers, load_server, set_in_use
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.platform.refusals import NotFound, NotPossible
from tests.builders.race import elsewhere, race
from tests.builders.region import region_image
from tests.builders.stored import NOW, reservation_id, stored

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


def server_id(database: Database, name: str, region: str = "west") -> int:
    def load() -> int:
        with database.snapshot() as tx:
            return list_servers(tx, region, ServerFilter(name=name)).items[0].server_id

    return elsewhere(load)


def in_use(database: Database, name: str, value: bool, generation: int = 1) -> InUse:
    return InUse(server_id=server_id(database, name), in_use=value, generation=generation)


def test_a_server_says_where_it_stands_and_whose_it_is(database: Database) -> None:
    with database.snapshot() as tx:
        one, other = (load_server(tx, server_id(database, name)) for name in ("server-01", "server-06"))
        with pytest.raises(NotFound, match="no server 999"):
            load_server(tx, 999)
    assert (one.region, one.datacenter, one.msb, one.rack) == ("west", "dc-00", "msb-00", "rack-00")
    assert (one.current_reservation, one.target_reservation, one.in_use) == ("web", None, True)
    assert (other.datacenter, other.msb, other.rack, other.hardware_type) == ("dc-01", "msb-01", "rack-03", "hw-b")


def test_servers_are_listed_by_what_they_are(database: Database, snapshot: FleetSnapshot) -> None:
    every = [f"server-{i:02d}" for i in range(8)]
    assert listed(database) == every
    assert listed(database, current_reservation="web") == ["server-00", "server-01"]
    assert listed(database, target_reservation="web") == ["server-00", "server-04"]
    assert listed(database, current_reservation="gone") == ["server-02"]  # deleted, and the mover has not come yet
    assert listed(database, target_reservation="gone") == []
    assert listed(database, current_id=reservation_id(snapshot, "web")) == ["server-00", "server-01"]
    assert listed(database, target_id=reservation_id(snapshot, "web")) == ["server-00", "server-04"]
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


def test_regions_are_listed_together_where_none_is_named(database: Database) -> None:
    with database.snapshot() as tx:
        found = list_servers(tx, None, ServerFilter(name="server-00", current_reservation="web")).items
        assert [(s.region, s.name) for s in found] == [("east", "server-00"), ("west", "server-00")]
        with pytest.raises(NotFound, match="no region north"):
            list_servers(tx, "north")


def test_an_allocator_says_what_is_in_use(database: Database) -> None:
    changes = [in_use(database, "server-01", False), in_use(database, "server-00", True)]
    with database.write() as tx:
        after = set_in_use(tx, changes, actor="k8s", now=NOW)
        assert [(s.name, s.in_use, s.generation) for s in after] == [("server-01", False, 2), ("server-00", True, 2)]
        again = [in_use(database, "server-00", True, generation=2)]
        assert set_in_use(tx, again, actor="k8s", now=NOW)[0].generation == 2
        entries = audit.list_entries(tx, actor="k8s").items
        assert [(e.subject_kind, e.subject_id, e.before, e.after) for e in entries] == [
            ("server", changes[1].server_id, {"in_use": False}, {"in_use": True}),
            ("server", changes[0].server_id, {"in_use": True}, {"in_use": False}),
        ]


def test_all_or_nothing(database: Database) -> None:
    good = in_use(database, "server-00", True)
    for bad, error in (
        (in_use(database, "server-01", False, generation=7), StaleGeneration),
        (in_use(database, "server-05", True), NotPossible),
        (InUse(server_id=999, in_use=True, generation=1), NotFound),
        (good, NotPossible),
    ):
        with pytest.raises(error), database.write() as tx:
            set_in_use(tx, [good, bad], actor="k8s", now=NOW)
    with database.snapshot() as tx:
        assert load_server(tx, good.server_id).in_use is False


def test_of_two_writers_at_one_generation_one_wins(database: Database) -> None:
    change = in_use(database, "server-00", True)
    outcomes = race(database, *[lambda tx: set_in_use(tx, [change], actor="k8s", now=NOW)] * 2)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["StaleGeneration", "tuple"]
