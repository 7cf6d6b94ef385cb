"""Exchanges with no free server between them go through a spare, on a real database."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.actuators.actuator import StepState
from libs.domain.move import MoveStatus
from libs.domain.replacement import LossVerdict
from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.domain.spare import LOAN_S_MAX, Loan, LoanAct, LoanState, LoanView
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.domain.waves import ForetoldLoan
from libs.store.fleet.loans import list_loans
from libs.store.fleet.motions import load_motions
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import open_event
from libs.store.moves.foretold_loans import settle_foretold_loans
from libs.store.moves.spares import write_loans
from libs.store.platform.database import Database
from services.mover.reconcilers import advance_moves
from services.mover.reconcilers.draw_replacements import DrawReplacements
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, bound, conditions
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, reservation_id, stored, targets

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


def loans(mover: Mover) -> list[LoanView]:
    with mover.database.snapshot() as tx:
        return list(list_loans(tx, region="west", now=mover.clock.now()).items)


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
    begins = Loan(act=LoanAct.LEND, server_id=server, generation=generation, reservation_id=web, until=NOW)
    with mover.database.write() as tx:
        assert write_loans(tx, [replace(begins, generation=generation - 1)], now=NOW) == 0
        assert write_loans(tx, [begins], now=NOW) == 1
        assert write_loans(tx, [replace(begins, act=LoanAct.FORGET)], now=NOW) == 0
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


def test_a_reservation_below_its_promise_keeps_its_spare_which_overstays(
    database: Database, clock: ManualClock
) -> None:
    """Web holds two of three RRU, so it cannot let its spare go after the exchange."""
    mover = with_buffer(database, clock, FREE, ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}))
    end(mover)
    assert {name: mover.server(name).current_reservation for name in SWAP} == SWAP
    ((name, borrower),) = lent(mover).items()
    assert borrower == "web"
    number = len(mover.moves())
    end(mover)
    assert len(mover.moves()) == number, "nothing moves any more"
    (loan,) = loans(mover)
    assert (loan.server, loan.reservation, loan.home, loan.state) == (name, "web", BUFFER, "overstays")
    said = conditions(mover)["LoansReturned"]
    assert (said.status.value, said.reason) == ("False", "Overstays")
    assert f"{name} at web since" in said.message
    mover.retarget(**{name.replace("-", "_"): "web"})
    mover.settle()
    mover.tick()
    assert loans(mover) == []
    assert mover.server(name).current_reservation == "web"
    assert conditions(mover)["LoansReturned"].status.value == "True"


def joined(mover: Mover) -> str:
    """Tick until a spare has joined web, while no step of another server of web ends. Return its name."""
    done = mover.actuator.say
    mover.actuator.say = lambda step: StepState.RUNNING if step.from_reservation == "web" else done(step)
    for _ in range(20):
        mover.tick()
        for name, borrower in lent(mover).items():
            if borrower == "web" and mover.server(name).current_reservation == "web":
                return name
    raise AssertionError("no spare joins web")


def test_at_its_limit_a_loan_ends_and_its_server_waits_until_it_can_be_spared(mover: Mover) -> None:
    """The preempt of server-00 takes longer than the loan. Web needs the spare until server-04 or another arrives."""
    bound(mover, loan_s_max=600.0)
    say, name = mover.actuator.say, joined(mover)
    (loan,) = [one for one in loans(mover) if one.server == name]
    assert loan.since is not None
    assert (loan.state, loan.until) == (LoanState.LENT, loan.since + timedelta(seconds=600))
    with mover.database.snapshot() as tx:
        found = load_motions(tx, [loan.reservation_id])[loan.reservation_id].loans
    assert found is not None
    assert (found.servers, found.since, found.until, found.returning) == (1, loan.since, loan.until, 0)
    assert found.message == (
        f"1 of its servers is on loan: 1 for the time of an exchange, until {loan.until:%Y-%m-%d %H:%M} UTC at the "
        "latest."
    )
    mover.policy = replace(mover.policy, step_s_max=86_400.0)
    mover.tick(601)
    mover.tick()
    (loan,) = [one for one in loans(mover) if one.server == name]
    assert loan.state == "returning"
    for _ in range(10):
        mover.tick(60)
    at_web = {s for s in (*WEB, *DB, *FREE) if mover.server(s).current_reservation == "web"}
    assert name in at_web, "without it web would not survive the loss of an MSB"
    assert {loan.server for loan in loans(mover) if loan.reservation == "web"} == {name}, "it borrows no other"
    mover.actuator.say = say
    end(mover)
    assert loans(mover) == []
    assert {s: mover.server(s).current_reservation for s in SWAP} == SWAP
    assert {mover.server(s).current_reservation for s in FREE} == {None}


def test_a_lent_server_that_failed_does_not_keep_its_reservation_from_borrowing(mover: Mover) -> None:
    say, name = mover.actuator.say, joined(mover)
    mover.actuator.say = say
    with mover.database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name=name,
            kind=Unavailability.UNPLANNED,
            reason="disk",
            starts_at=mover.clock.now(),
            ends_at=None,
            actor="health",
            now=mover.clock.now(),
        )
    end(mover)
    mover.clock.sleep(LOAN_S_MAX + 60)
    mover.tick()
    ((overdue, borrower),) = lent(mover).items()
    assert (overdue, borrower) == (name, "web"), "it cannot leave before its repair"
    mover.retarget(server_00="web", server_04="db")
    borrowed: set[str] = set()
    for _ in range(40):
        mover.tick(60)
        borrowed |= {server for server, to in lent(mover).items() if to == "web"}
    assert borrowed - {name}
    assert {s: mover.server(s).current_reservation for s in WEB} == dict.fromkeys(WEB, "web") | {"server-04": "db"}


def test_a_loan_lasts_three_times_as_long_as_the_plan_foretold(mover: Mover) -> None:
    web = reservation_id(read(mover.database), "web")
    with mover.database.write() as tx:
        foretold = ForetoldLoan(reservation_id=web, servers=1, seconds=1000.0)
        settle_foretold_loans(tx, load_region(tx, "west").region_id, [foretold])
    while not loans(mover):
        mover.tick()
    ends = {loan.reservation: loan.until - loan.since for loan in loans(mover) if loan.until and loan.since}
    assert ends == {"web": timedelta(seconds=3000), "db": timedelta(seconds=LOAN_S_MAX)}


def test_a_loan_of_an_older_version_is_taken_back_at_once(mover: Mover) -> None:
    joined(mover)
    with mover.database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET spare_since = NULL, spare_until = NULL"))
    mover.tick()
    assert {loan.state for loan in loans(mover)} == {"returning"}


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
