"""Shared buffers have the size that the policy says, over all MSBs, in the host profile that most want."""

import pytest
import sqlalchemy as sa

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import Reservation, ReservationKind, ReservationSpec
from libs.store.capacity.reservation_lists import ReservationFilter, list_reservations
from libs.store.capacity.shared_buffers import size_shared_buffers
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from libs.store.regions.region_policies import update_policy
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored, targets


def wants(profile: str) -> ReservationSpec:
    return ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0, "hw-b": 1.0}, host_profile=profile)


@pytest.fixture
def database(database_url: str):
    database = Database(database_url, pool_size=2)
    current = {"server-00": "one", "server-01": "two", "server-02": "three", "server-03": "three"}
    policy = RegionPolicy(shared_buffer_share=0.25)
    image = region_image(
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=5,
        hardware_types=("hw-a", "hw-b"),
        reservations={"one": wants("huge"), "two": wants("huge"), "three": wants("small")},
        current=current,
        policy=policy,
    )
    stored(database, image)
    yield database
    database.close()


def buffers(database: Database, share: float) -> list[Reservation]:
    with database.write() as tx:
        size_shared_buffers(tx, load_region(tx, "west").region_id, share=share, now=NOW)
    with database.snapshot() as tx:
        return list(list_reservations(tx, ReservationFilter(region="west", kind=ReservationKind.SHARED_BUFFER)).items)


def test_size_spread_and_host_profile(database: Database) -> None:
    for share, size, limit in ((0.25, 5, 2 / 5), (0.05, 1, 1.0), (0.5, 10, 3 / 10)):
        specs = [one.spec for one in buffers(database, share)]
        assert [spec.capacity_rru for spec in specs] == [size, size]
        assert [spec.msb_spread_limit for spec in specs] == pytest.approx([limit, limit])
        assert [spec.host_profile for spec in specs] == ["huge", "huge"], "two reservations against one"


def test_the_profile_follows_the_reservations_and_gives_way_only_to_more(database: Database) -> None:
    before = buffers(database, 0.25)
    for two, wanted in (("small", "small"), ("huge", "huge")):
        with database.write() as tx:
            change = sa.text("UPDATE reservations SET host_profile = :wanted WHERE name = 'two'")
            tx.execute(change, {"wanted": two})
        assert buffers(database, 0.25)[0].spec.host_profile == wanted
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET target_reservation_id = NULL WHERE name = 'server-01'"))
    after = buffers(database, 0.25)
    assert after[0].spec.host_profile == "huge", "one against one"
    assert buffers(database, 0.25)[0].generation == after[0].generation, "what does not change is not written"
    assert [one.name for one in after] == [one.name for one in before]


def test_a_share_of_0_switches_them_off_and_frees_their_servers(database: Database) -> None:
    [of_a, _] = buffers(database, 0.25)
    with database.write() as tx:
        bind = "UPDATE servers SET target_reservation_id = :buffer WHERE name IN ('server-04', 'server-10')"
        tx.execute(sa.text(bind), {"buffer": of_a.reservation_id})
    with database.write() as tx:
        region = load_region(tx, "west")
        update_policy(tx, "west", RegionPolicy(), generation=region.generation, actor="olga", now=NOW)
    assert buffers(database, 0.0) == []
    assert {"server-04", "server-10"}.isdisjoint(targets(read(database)))


def test_guests_want_no_profile_of_their_own(database: Database) -> None:
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET target_reservation_id = NULL"))
        tx.execute(
            sa.text("""UPDATE reservations SET host_reservation_id =
            (SELECT reservation_id FROM reservations WHERE name = 'three') WHERE name <> 'three'""")
        )
    assert {one.spec.host_profile for one in buffers(database, 0.25)} == {"small"}, "two guests against their host"
