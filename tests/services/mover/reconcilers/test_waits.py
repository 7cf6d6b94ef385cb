"""A server that may not leave says why, what for and since when, on a real database."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.departure_wait import DepartureWait, Level, WaitsFor
from libs.domain.move import MoveStatus
from libs.domain.reservation import ReservationSpec
from libs.store.fleet.departure_waits import list_waits, load_oldest_waits
from libs.store.fleet.regions import load_region
from libs.store.moves.urgent_departures import mark_urgent
from libs.store.platform.database import Database
from services.mover.reconcilers import advance_moves
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, conditions, http
from tests.builders.region import region_image
from tests.builders.stored import stored

ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)


def waits(mover: Mover) -> dict[str, DepartureWait]:
    with mover.database.snapshot() as tx:
        return {wait.reservation: wait for _, wait in list_waits(tx, region="west").items}


def versions(mover: Mover) -> list[object]:
    """Return what identifies the stored rows: a row that is written again has another xmin."""
    rows = []
    with mover.database.snapshot() as tx:
        for table in ("departure_waits", "reservation_waits"):
            rows += tx.execute(sa.text(f"SELECT xmin::text, {table}.* FROM {table} ORDER BY 2")).all()
    return rows


@pytest.fixture
def swap(database: Database, clock: ManualClock) -> Mover:
    """web and db need the one server that the other is to give, and no server is free."""
    image = region_image(
        servers_per_rack=1,
        reservations={"web": ONE, "db": ONE},
        current={"server-00": "web", "server-01": "db"},
        target={"server-00": "db", "server-01": "web"},
    )
    stored(database, image)
    return Mover(database, clock)


def test_a_wait_says_why_for_what_and_since_when(swap: Mover) -> None:
    swap.tick()
    began = swap.clock.now()
    wait = waits(swap)["web"]
    assert (wait.servers, wait.level, wait.waits_for) == (1, Level.HOLD, WaitsFor.CAPACITY)
    assert (wait.keeps_rru, wait.lacks_rru, wait.since) == (1.0, 1.0, began)
    assert "1 RRU less than the 1 that it must keep" in wait.message
    server = swap.server("server-00")
    assert server.waits is not None
    assert (server.waits.since, server.waits.message) == (began, wait.message)
    with swap.database.snapshot() as tx:
        assert load_oldest_waits(tx) == {"west": began.timestamp()}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        # hw-a has 64 GiB: web needs one server for its RRU, and both for its memory.
        (ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, resources={"memory_gib": 100}),
         "it would hold 36 memory_gib less than the 100 that it must keep. "),
        # Each server has its own MSB and its own block.
        (ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_loss_of=("block",)),
         "it would hold 1 RRU less than the 1 that it must keep after the loss of any one MSB. "),
        (ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("block",)),
         "it would hold 1 RRU less than the 1 that it must keep after the loss of any one block. "),
    ],
    ids=["memory", "msb", "block"],
)  # fmt: skip
def test_a_wait_names_what_would_lack_and_after_which_loss(
    database: Database, clock: ManualClock, spec: ReservationSpec, message: str
) -> None:
    blocks = {"server-00": "a", "server-01": "b"}
    image = region_image(
        servers_per_rack=1,
        reservations={"web": spec},
        current=dict.fromkeys(blocks, "web"),
        target={"server-00": None, "server-01": "web"},
        attributes={"hw-a": {"memory_gib": 64}},
        domains={"block": blocks},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()
    assert message in waits(mover)["web"].message


def test_a_wait_names_the_guest_that_would_lack(database: Database, clock: ManualClock) -> None:
    """web needs one server for itself. Its guest has half of each server, and needs both."""
    host = ReservationSpec(capacity_rru=0.5, rru={"hw-a": 1.0}, survives_msb_loss=False)
    guest = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, guest_of="web", guest_share=0.5)
    servers = ("server-00", "server-01")
    image = region_image(
        servers_per_rack=1,
        reservations={"web": host, "cache": guest},
        current=dict.fromkeys(servers, "web"),
        target={"server-00": None, "server-01": "web"},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()
    wait = waits(mover)["web"]
    assert "hold 0.5 RRU of its guest cache less than the 1 that it must keep. " in wait.message
    (shown,) = http(mover).get("/v1/waits", params={"region": "west"}).json()["items"]
    assert (shown["unit"], shown["lacks_rru"] * shown["units"], shown["loss"]) == ("RRU of its guest cache", 0.5, None)


def test_a_tick_writes_no_wait_that_goes_on(swap: Mover) -> None:
    swap.tick()
    stored_once = versions(swap)
    assert len(stored_once) == 4
    for _ in range(3):
        swap.tick(60)
    assert versions(swap) == stored_once


def test_waits_end_with_what_they_wait_for(database: Database, clock: ManualClock) -> None:
    """web gets a free server for the one that it gives."""
    target = {"server-00": None, "server-01": "web"}
    stored(
        database,
        region_image(servers_per_rack=1, reservations={"web": ONE}, current={"server-00": "web"}, target=target),
    )
    mover = Mover(database, clock)
    mover.tick()
    wait = waits(mover)["web"]
    assert (wait.waits_for, wait.moves, wait.queued) == (WaitsFor.ARRIVALS, 1, 0)
    since = wait.since
    mover.tick(60)
    assert waits(mover)["web"].since == since
    mover.settle()
    assert waits(mover) == {}
    assert versions(mover) == []
    assert mover.server("server-00").waits is None


def test_a_started_move_that_may_leave_no_more_ends_and_its_server_waits(
    database: Database, clock: ManualClock
) -> None:
    """Such a move would count against the bounds on moves, and stop others."""
    image = region_image(
        servers_per_rack=1,
        reservations={"web": ONE},
        current={"server-00": "web", "server-01": "web"},
        target={"server-00": None},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()  # the move starts, and asks for nothing yet
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-01'"))
    mover.tick()
    (move,) = mover.moves()
    assert (move.status, move.reason) == (MoveStatus.CANCELLED, "may_not_leave")
    for _ in range(2):
        waiting = mover.server("server-00").waits
        assert waiting is not None
        assert waiting.waits_for is WaitsFor.CAPACITY
        mover.tick()
    assert len(mover.moves()) == 1, "it begins again only once its server may leave"


def test_a_paused_mover_forgets_no_wait(swap: Mover) -> None:
    swap.tick()
    before = versions(swap)
    assert http(swap).post("/v1/movers/west/pause", json={"reason": "a look"}).is_success
    swap.clock.sleep(timedelta(hours=1).total_seconds())
    swap.tick()
    assert versions(swap) == before


@pytest.mark.parametrize("point", ["mover.waits.before", "mover.waits.after"])
def test_killed_while_it_writes_waits_the_mover_goes_on(
    swap: Mover, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    class Killed(BaseException):
        pass

    def crash(name: str) -> None:
        if name == point:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(advance_moves, "crash_point", crash)
        with pytest.raises(Killed):
            swap.tick()
    swap.tick()
    assert set(waits(swap)) == {"web", "db"}


def test_waits_over_rest(swap: Mover) -> None:
    swap.tick()
    client = http(swap)
    items = client.get("/v1/waits", params={"region": "west"}).json()["items"]
    assert [(one["reservation"], one["waits_for"], one["level"]) for one in items] == [
        ("web", "Capacity", "hold"),
        ("db", "Capacity", "hold"),
    ]
    assert items[0]["message"] == waits(swap)["web"].message
    assert client.get(f"/v1/waits/{items[0]['reservation_id']}").json() == items[0]
    assert client.get("/v1/waits", params={"reservation": "db"}).json()["items"] == items[1:]
    assert client.get("/v1/waits/999").status_code == 404
    assert client.get("/v1/waits", params={"region": "nowhere"}).status_code == 404
    (server,) = client.get("/v1/servers", params={"name": "server-00"}).json()["items"]
    assert server["waits"]["waits_for"] == "Capacity"


def test_servers_of_a_deleted_reservation_wait_for_the_bounds_alone(database: Database, clock: ManualClock) -> None:
    names = [f"server-{number:02d}" for number in range(3)]
    spec = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        msbs=1,
        servers_per_rack=3,
        reservations={"web": spec},
        current=dict.fromkeys(names, "web"),
        target=dict.fromkeys(names),
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()
    assert waits(mover)["web"].servers == 3
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET deleted_at = now() WHERE name = 'web'"))
    mover.policy = replace(mover.policy, msb_moves_max=1)
    assert mover.tick().started == 1
    assert waits(mover) == {}
    assert versions(mover) == []
    assert conditions(mover)["RoomToMove"].status.value == "True"


def test_a_server_that_may_leave_at_once_waits_for_the_bounds_alone(database: Database, clock: ManualClock) -> None:
    """web would not survive the loss of an MSB without it. That is enough for a server that must leave at once."""
    names = [f"server-{number:02d}" for number in range(4)]
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0})
    image = region_image(
        msbs=2,
        servers_per_rack=2,
        reservations={"web": spec},
        current=dict.fromkeys(names, "web"),
        target=dict.fromkeys(names, "web") | {"server-00": None},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()
    assert waits(mover)["web"].level is Level.SURVIVE
    ids = [mover.server("server-00").server_id]
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        assert mark_urgent(tx, region_id, ids, reason="fire", actor="olga", now=clock.now()) == 1
    bounded = mover.policy
    mover.policy = replace(bounded, msb_moves_max=0)
    mover.tick()
    assert waits(mover) == {}
    mover.policy = bounded
    assert mover.tick().started == 1


def test_a_wait_is_as_old_as_the_servers_that_still_wait(database: Database, clock: ManualClock) -> None:
    """server-00 waits first. Then it leaves, and the bounds leave no move to decide about server-01."""
    names = [f"server-{number:02d}" for number in range(3)]
    spec = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        msbs=1,
        servers_per_rack=3,
        reservations={"web": spec},
        current=dict.fromkeys(names, "web"),
        target=dict.fromkeys(names, "web") | {"server-00": None},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.tick()
    mover.retarget(server_01=None)
    mover.tick(600)
    second = clock.now()
    assert waits(mover)["web"].since < second
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 2 WHERE name = 'web'"))
    mover.policy = replace(mover.policy, msb_moves_max=1)
    assert mover.tick(600).started == 1
    assert (waits(mover)["web"].servers, waits(mover)["web"].since) == (1, second)
