"""`/v1/regions/{region}/move-counts` counts each running move once."""

from collections import Counter

import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, http
from tests.builders.region import region_image
from tests.builders.stored import stored

ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
CURRENT = {"server-00": "web", "server-01": "web", "server-02": "web", "server-05": "db"}
TARGET = {"server-00": "db", "server-01": "db", "server-02": None, "server-05": "db", "server-08": "web"}


def test_every_running_move_counts_once(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(msbs=3, reservations={"web": ONE, "db": ONE}, current=CURRENT, target=TARGET))
    mover = Mover(database, clock)
    client = http(mover)
    assert client.get("/v1/regions/west/move-counts").json() == {"region": "west", "items": []}
    seen = 0
    for _ in range(6):
        mover.tick()
        moves = client.get("/v1/moves", params={"region": "west", "status": "running"}).json()["items"]
        found = client.get("/v1/regions/west/move-counts").json()["items"]
        keys = ("from_reservation", "to_reservation", "step", "is_spare")
        assert {tuple(one[key] for key in keys): one["moves"] for one in found} == Counter(
            tuple(one[key] for key in keys) for one in moves
        )
        assert sum(one["waiting"] for one in found) == sum(move["waits"] is not None for move in moves)
        assert [one["moves"] for one in found] == sorted((one["moves"] for one in found), reverse=True)
        if moves:
            assert min(one["since"] for one in found) == min(move["created_at"] for move in moves)
        seen += len(moves)
    assert seen > 0


def test_a_region_that_is_not_there_is_missing(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(msbs=3, reservations={}))
    client = http(Mover(database, clock))
    assert client.get("/v1/regions/none/move-counts").status_code == 404


def test_steps_that_are_tried_again_are_told(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(msbs=3, reservations={"web": ONE, "db": ONE}, current=CURRENT, target=TARGET))
    mover = Mover(database, clock)
    mover.tick()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE moves SET attempt = 2 WHERE status = 'running'"))
    found = http(mover).get("/v1/regions/west/move-counts").json()["items"]
    assert found
    assert all(one["failing"] == one["moves"] for one in found)
