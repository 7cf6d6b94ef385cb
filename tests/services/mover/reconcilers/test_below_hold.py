"""Moves below *hold* wait for an approval and then go as it says, on a real database."""

import pytest

from libs.domain.approval import Approval, ApprovalKind, ApprovalStatus
from libs.domain.reservation import ReservationSpec
from libs.ras.waves.report import foretell
from libs.store.capacity.approvals import list_approvals
from libs.store.capacity.reservations import delete_reservation
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.exceptions import load_exceptions, settle_exceptions
from libs.store.moves.moving_state import load_moving_state
from libs.store.platform.database import Database
from libs.web.problems import Problem
from services.mover.reconcilers import advance_moves
from services.portal.decide_approvals import approve, reject
from tests.builders.clock import ManualClock
from tests.builders.granted import ask
from tests.builders.mover import Mover, http
from tests.builders.region import region_image
from tests.builders.stored import read, reservation_id, stored

ONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
SWAP = {"server-00": "db", "server-01": "web"}


def settle(mover: Mover) -> int | None:
    """Do as the commit of a plan does: ask for what the targets need."""
    with mover.database.snapshot() as tx:
        snapshot, state = load_fleet_snapshot(tx, "west"), load_moving_state(tx, "west")
    exceptions = foretell(snapshot, snapshot.servers.target, state).exceptions
    with mover.database.write() as tx:
        region_id, plan_id = load_region(tx, "west").region_id, snapshot.target_plan_id
        now = mover.clock.now()
        return settle_exceptions(tx, region_id, exceptions, plan_id=plan_id, actor="solver", reason=None, now=now)


def approvals(mover: Mover) -> list[Approval]:
    with mover.database.snapshot() as tx:
        return list(list_approvals(tx, region="west", kind=ApprovalKind.BELOW_HOLD).items)


def decide(mover: Mover, *, yes: bool = True) -> None:
    (one,) = [one for one in approvals(mover) if one.status is ApprovalStatus.PENDING]
    with mover.database.write() as tx:
        how = approve if yes else reject
        now = mover.clock.now()
        how(tx, one.approval_id, generation=one.generation, actor="olga", reason="agreed", now=now)


def is_swapped(mover: Mover) -> bool:
    return {name: mover.server(name).current_reservation for name in SWAP} == SWAP


def end(mover: Mover) -> None:
    for _ in range(12):
        mover.tick(60)


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """web and db need the one server that the other is to give, and no server is free."""
    current = {"server-00": "web", "server-01": "db"}
    image = region_image(servers_per_rack=1, reservations={"web": ONE, "db": ONE}, current=current, target=SWAP)
    stored(database, image)
    return Mover(database, clock)


def test_the_moves_go_once_an_operator_approves_what_the_plan_names(mover: Mover) -> None:
    number = settle(mover)
    (asked,) = approvals(mover)
    assert (asked.approval_id, asked.status, asked.asked_by) == (number, ApprovalStatus.PENDING, ("solver",))
    (cause,) = asked.causes
    assert cause.message == "web would hold 1 RRU less than its promise for about 6 min, while 1 of its servers leave"
    assert asked.change is not None
    assert {one["reservation"]: one["promised_rru"] for one in asked.change["reservations"]} == {"web": 1.0, "db": 1.0}
    end(mover)
    assert not mover.moves()
    shown = http(mover).get("/v1/waits").json()["items"]
    assert [(one["waits_for"], one["approval_id"], one["approval_state"]) for one in shown] == [
        ("Approval", number, "pending")
    ] * 2
    decide(mover)
    end(mover)
    assert is_swapped(mover)
    assert settle(mover) is None
    (over,) = approvals(mover)
    assert (over.status, over.decision_reason) == (ApprovalStatus.SUPERSEDED, "NotNeeded")


@pytest.mark.parametrize(
    ("granted_rru", "below"),
    [
        (0.0, "1 RRU less than its request for about 6 min, while 1 of its servers leave; 0 of its 1 RRU are granted"),
        (
            0.75,
            "0.75 RRU less than what was granted of it for about 6 min, while 1 of its servers leave; "
            "0.75 of its 1 RRU are granted",
        ),
    ],
)
def test_a_request_that_waits_falls_below_no_promise(mover: Mover, granted_rru: float, below: str) -> None:
    """The exception is foretold as if all were granted: a request may begin to wait meanwhile."""
    created = ("create", granted_rru, "granted") if granted_rru else ("create", 1, "degraded")
    ask(mover.database, [created, ("resize", 1, "degraded")])
    settle(mover)
    (asked,) = approvals(mover)
    (cause,) = asked.causes
    assert cause.message == f"web would hold {below}"
    assert asked.change is not None
    told = {one["reservation"]: (one["promised_rru"], one["asked_rru"]) for one in asked.change["reservations"]}
    assert told == {"web": (granted_rru, 1.0), "db": (1.0, 1.0)}


def test_rejected_moves_wait_and_are_not_asked_for_again(mover: Mover) -> None:
    number = settle(mover)
    decide(mover, yes=False)
    assert settle(mover) == number
    end(mover)
    assert not mover.moves()
    assert len(approvals(mover)) == 1
    waits = mover.server("server-00").waits
    assert waits is not None
    assert f"approval {number}, which was rejected" in waits.message


def test_an_approval_that_is_over_is_asked_for_again(mover: Mover) -> None:
    first = settle(mover)
    decide(mover)
    mover.clock.sleep(7200)
    end(mover)
    assert not mover.moves()
    second = settle(mover)
    assert second is not None
    assert first is not None
    assert second > first
    decide(mover)
    end(mover)
    assert is_swapped(mover)


def test_an_approval_is_given_once(mover: Mover) -> None:
    settle(mover)
    decide(mover)
    (one,) = approvals(mover)
    now = mover.clock.now()
    with mover.database.write() as tx, pytest.raises(Problem, match="no longer waits"):
        approve(tx, one.approval_id, generation=one.generation, actor="olga", reason="again", now=now)


def test_a_newer_plan_supersedes_an_approval_between_its_move_and_the_preempt(mover: Mover) -> None:
    """The newer plan comes after the mover has read the approval, and before it asks for the step."""
    settle(mover)
    decide(mover)
    mover.tick()  # looks for spare servers first
    mover.tick()
    assert len(mover.moves()) == 1, "it has started, and no step was asked for"

    def supersede(point: str) -> None:
        if point == "mover.mark.before":
            with mover.database.write() as tx:
                region_id, now = load_region(tx, "west").region_id, mover.clock.now()
                settle_exceptions(tx, region_id, None, plan_id=None, actor="solver", reason=None, now=now)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(advance_moves, "crash_point", supersede)
        mover.tick(60)
    assert mover.actuator.asked == []
    end(mover)
    assert mover.actuator.asked == []
    assert {mover.server(name).current_reservation for name in SWAP} == {"web", "db"}


@pytest.mark.parametrize("point", ["mover.start.before", "mover.start.after", "mover.mark.before", "mover.mark.after"])
def test_killed_between_the_approval_and_its_moves_the_mover_goes_on(
    mover: Mover, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    class Killed(BaseException):
        pass

    def crash(name: str) -> None:
        if name == point:
            raise Killed

    settle(mover)
    decide(mover)
    with monkeypatch.context() as patched:
        patched.setattr(advance_moves, "crash_point", crash)
        with pytest.raises(Killed):
            end(mover)
    end(mover)
    assert is_swapped(mover)


def test_a_reservation_that_is_deleted_meanwhile_frees_the_others(mover: Mover) -> None:
    settle(mover)
    decide(mover)
    with mover.database.write() as tx:
        delete_reservation(tx, reservation_id(read(mover.database), "db"), generation=1, now=mover.clock.now())
    end(mover)
    assert mover.server("server-01").current_reservation == "web", "db needs its server no more"
    with mover.database.snapshot() as tx:
        assert load_exceptions(tx, load_region(tx, "west").region_id) is not None
    settle(mover)
