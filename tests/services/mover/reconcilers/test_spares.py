"""Exchanges with no free server between them go through a spare, on a real database."""

import pytest

from libs.domain.move import MoveStatus
from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.domain.spare import Loan
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.unavailability_events import open_event
from libs.store.moves.spares import lend_servers
from libs.store.platform.database import Database
from services.mover.reconcilers import advance_moves
from services.mover.reconcilers.draw_replacements import DrawReplacements
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored, targets

ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
WEB, DB = ("server-00", "server-04"), ("server-05", "server-08")
"""Each of web and db survives the loss of an MSB with one server in each of two MSBs."""
SWAP = {"server-00": "db", "server-04": "web", "server-05": "db", "server-08": "web"}
FREE = {f"server-{k:02d}" for k in range(12)} - {*WEB, *DB}


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """web and db exchange a server, and survive the loss of an MSB with just what they have; eight servers are free."""
    current = dict.fromkeys(WEB, "web") | dict.fromkeys(DB, "db")
    image = region_image(msbs=3, reservations={"web": ONE, "db": ONE}, current=current, target=SWAP)
    stored(database, image)
    return Mover(database, clock)


def lent(mover: Mover) -> dict[str, str]:
    found = {name: mover.server(name).spare_for_reservation for name in FREE}
    return {name: to for name, to in found.items() if to is not None}


def end(mover: Mover) -> None:
    """Tick until all is done; a tick that only looks for spares starts nothing."""
    for _ in range(40):
        mover.tick(60)


def test_an_exchange_goes_through_a_spare_that_comes_back(mover: Mover) -> None:
    while not lent(mover):
        assert mover.tick().started == 0, "nothing leaves before a spare is there"
    assert set(lent(mover).values()) == {"web", "db"}
    assert targets(read(mover.database)) == SWAP, "no solver counts it as a target"
    end(mover)
    assert lent(mover) == {}
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP
    assert {mover.server(name).current_reservation for name in FREE} == {None}
    joined = {move.to_reservation for move in mover.moves() if move.is_spare}
    assert joined == {"web", "db"}
    assert all(move.status is MoveStatus.DONE for move in mover.moves())


@pytest.mark.parametrize("point", ["mover.lend.before", "mover.lend.after"])
def test_killed_while_it_lends_a_server_the_mover_goes_on(
    mover: Mover, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    class Killed(BaseException):
        pass

    def crash(name: str) -> None:
        if name == point:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(advance_moves, "crash_point", crash)
        mover.tick()
        with pytest.raises(Killed):
            mover.tick()
    end(mover)
    assert lent(mover) == {}
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP
    assert {mover.server(name).current_reservation for name in FREE} == {None}


def test_a_spare_that_a_plan_has_a_use_for_is_taken_back(mover: Mover) -> None:
    while not lent(mover):
        mover.tick()
    name, _ = next(iter(sorted(lent(mover).items())))
    mover.retarget(**{name.replace("-", "_"): "web"})
    mover.tick()
    assert name not in lent(mover)
    end(mover)
    assert mover.server(name).current_reservation == "web"


def test_a_server_that_changed_or_a_reservation_that_is_gone_gets_no_loan(mover: Mover) -> None:
    snapshot = read(mover.database)
    web, row = reservation_id(snapshot, "web"), list(snapshot.servers.name).index("server-11")
    server, generation = int(snapshot.servers.id[row]), int(snapshot.servers.generation[row])
    with mover.database.write() as tx:
        stale = Loan(server_id=server, generation=generation - 1, reservation_id=web)
        assert lend_servers(tx, [stale]) == 0
        assert lend_servers(tx, [Loan(server_id=server, generation=generation, reservation_id=web)]) == 1
        assert lend_servers(tx, [Loan(server_id=server, generation=generation, reservation_id=None)]) == 0
    assert lent(mover) == {"server-11": "web"}


BUFFER = "shared-buffer hw-a"


def with_buffer(database: Database, clock: ManualClock, spares: set[str], web: ReservationSpec = ONE) -> Mover:
    """As `mover`, but no server is free: `spares` are in the shared buffer, and the others in a third reservation."""
    loose = {"rru": {"hw-a": 1.0}, "survives_msb_loss": False}
    bound = dict.fromkeys(spares, BUFFER) | dict.fromkeys(FREE - spares, "other")
    image = region_image(
        msbs=3,
        reservations={
            "web": web,
            "db": ONE,
            "other": ReservationSpec(capacity_rru=8, **loose),
            BUFFER: ReservationSpec(capacity_rru=8, **loose),
        },
        current=dict.fromkeys(WEB, "web") | dict.fromkeys(DB, "db") | bound,
        target=SWAP | bound,
        kind={BUFFER: ReservationKind.SHARED_BUFFER.value},
        owner={BUFFER: "plimsoll"},
    )
    stored(database, image)
    return Mover(database, clock)


def test_a_spare_of_a_shared_buffer_goes_home_to_it(database: Database, clock: ManualClock) -> None:
    mover = with_buffer(database, clock, FREE)
    end(mover)
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP
    assert {mover.server(name).current_reservation for name in FREE} == {BUFFER}
    assert any(move.is_spare for move in mover.moves())
    assert all(mover.server(name).unavailability is Unavailability.NONE for name in FREE)


def test_a_reservation_below_its_promise_keeps_its_spare_and_borrows_no_other(
    database: Database, clock: ManualClock
) -> None:
    """Web holds two of three RRU, so it cannot let its spare go after the exchange."""
    mover = with_buffer(database, clock, FREE, ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}))
    end(mover)
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP
    assert lent(mover) == {}
    number = len(mover.moves())
    end(mover)
    assert len(mover.moves()) == number, "nothing moves any more"


@pytest.mark.parametrize(("servers", "most"), [(3, 0), (4, 1), (7, 1), (8, 2)])
def test_at_most_a_quarter_of_a_shared_buffer_is_lent(
    database: Database, clock: ManualClock, servers: int, most: int
) -> None:
    spares = set(sorted(FREE)[:servers])
    mover, away = with_buffer(database, clock, spares), 0
    for _ in range(40):
        mover.tick(60)
        gone = {name for name in spares if mover.server(name).current_reservation != BUFFER}
        away = max(away, len(gone | lent(mover).keys()))
    assert away == most
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP, "the exchange ends anyway"


def test_a_lent_server_that_has_not_joined_may_replace_a_lost_one(database: Database, clock: ManualClock) -> None:
    mover = with_buffer(database, clock, {"server-01", "server-02", "server-09", "server-10"})
    while not lent(mover):
        mover.tick()
    other = [name for name, to in targets(read(database)).items() if to == "other"]
    for name in other:
        with database.write() as tx:
            open_event(
                tx,
                "west",
                scope=UnavailabilityScope.SERVER,
                scope_name=name,
                kind=Unavailability.UNPLANNED,
                reason="disk",
                starts_at=clock.now(),
                ends_at=None,
                actor="health",
                now=clock.now(),
            )
    assert len(other) == 4
    assert DrawReplacements(database, clock, "west").reconcile() == {LossVerdict.DRAWN: 4}
    end(mover)
    assert lent(mover) == {}
    assert {mover.server(name).current_reservation for name in FREE - set(other)} == {"other"}
