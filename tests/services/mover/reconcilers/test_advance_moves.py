"""Test moves on a real database, with an actuator that the test controls."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from libs.actuators.actuator import ActuatorUnavailable, StepRequest, StepState
from libs.domain.move import MoveStatus, MoveStep
from libs.domain.region_condition import ConditionStatus, RegionCondition, RegionConditionType
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.reconcile.call_retries import Backoff
from libs.store.fleet.servers import InUse, set_in_use
from libs.store.fleet.unavailability_events import end_event, list_events, open_event
from libs.store.moves.move_history import load_step_records
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from libs.store.regions.region_conditions import load_all_conditions
from services.mover.move_policy import MovePolicy
from tests.builders.clock import ManualClock
from tests.builders.mover import POLICY, SPECS, Mover
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    stored(
        database,
        region_image(
            reservations=SPECS,
            current={"server-00": "web", "server-01": "web", "server-02": "web"},
            target={"server-00": "db", "server-01": "web", "server-03": "db"},
            in_use={"server-00"},
        ),
    )
    return Mover(database, clock)


def test_every_server_gets_where_it_should_be_through_its_steps(mover: Mover) -> None:
    assert mover.tick().started == 3
    mover.settle()
    by_server = {move.server: move for move in mover.moves()}
    assert {move.status for move in by_server.values()} == {MoveStatus.DONE}
    whole = (MoveStep.PREEMPT, MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert by_server["server-00"].steps == whole
    assert by_server["server-02"].steps == (MoveStep.PREEMPT, MoveStep.CLEAN)
    assert by_server["server-03"].steps == (MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert mover.records(by_server["server-00"]) == [(step.value, 1, "done") for step in whole]
    moved, freed = mover.server("server-00"), mover.server("server-02")
    assert (moved.current_reservation, moved.host_profile, moved.in_use) == ("db", "big-pages", False)
    assert (freed.current_reservation, freed.host_profile) == (None, "default")
    assert mover.server("server-01").current_reservation == "web"


@pytest.fixture
def spares(database: Database, clock: ManualClock) -> Mover:
    """server-00 and server-01 become spare. server-02 is spare and clean. An older version joined server-03 to the
    buffer.
    """
    spare = {"spare": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)}
    stored(
        database,
        region_image(
            reservations=SPECS | spare,
            kind={"spare": "shared_buffer"},
            current={"server-00": "web", "server-02": "spare", "server-03": "spare"},
            target={"server-00": "spare", "server-01": "spare", "server-02": "web", "server-03": "web"},
        ),
    )
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unclean = true WHERE name = 'server-03'"))
    return Mover(database, clock)


def test_spare_servers_are_held_clean_and_join_in_one_step(spares: Mover) -> None:
    assert spares.tick().rebound == 1
    assert spares.server("server-01").current_reservation == "spare", "no step was needed"
    with spares.database.snapshot() as tx:
        assert "move" in {one.kind for one in list_jobs(tx).items}, "a replacement does not wait for the timetable"
    spares.settle()
    steps = {move.server: [step.value for step in move.steps] for move in spares.moves()}
    assert steps == {
        "server-00": ["preempt", "clean"],
        "server-02": ["join"],
        "server-03": ["preempt", "clean", "join"],
    }
    assert {spares.server(f"server-0{i}").current_reservation for i in (0, 1)} == {"spare"}
    assert {spares.server(f"server-0{i}").current_reservation for i in (2, 3)} == {"web"}
    assert not spares.server("server-00").unclean


def test_a_spare_server_is_set_free_without_a_step(spares: Mover) -> None:
    spares.retarget(server_02=None)
    assert spares.tick().rebound == 2
    assert spares.server("server-02").current_reservation is None
    assert not spares.moves("server-02")


def test_a_spare_server_whose_join_has_no_answer_is_in_doubt_and_in_no_buffer(spares: Mover) -> None:
    spares.actuator.say = lambda step: StepState.RUNNING
    spares.tick()
    spares.tick()
    for _ in range(2 * POLICY.attempts_max):
        spares.tick(POLICY.step_s_max + 60.0)
    server = spares.server("server-02")
    assert (server.current_reservation, server.in_doubt_reservation) == (None, "web")


def test_the_actuator_is_asked_again_with_the_same_key_and_told_what_it_needs(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.RUNNING
    for _ in range(4):
        mover.tick()
    first, *again = [step for step in mover.actuator.asked if step.server == "server-00"]
    assert len(again) == 2
    assert all(step == first for step in again)
    assert (first.from_reservation, first.to_reservation) == ("web", "db")
    assert (first.from_host_profile, first.to_host_profile) == ("default", "big-pages")


def test_a_step_under_way_is_finished_before_its_move_is_cancelled(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.tick()
    mover.retarget(server_00="web")
    mover.actuator.say = lambda step: StepState.DONE
    mover.tick()
    cancelled = mover.moves("server-00")[0]
    assert (cancelled.status, cancelled.reason, cancelled.step) == (
        MoveStatus.CANCELLED,
        "target_changed",
        MoveStep.CLEAN,
    )
    assert mover.server("server-00").current_reservation is None
    mover.settle()
    # The server is cleaned of its last owner, although this move leaves no reservation.
    assert mover.moves("server-00")[-1].steps == (MoveStep.CLEAN, MoveStep.JOIN)
    assert mover.server("server-00").current_reservation == "web"


def test_a_move_whose_step_was_not_asked_for_is_cancelled_and_the_server_stays(mover: Mover) -> None:
    mover.tick()
    mover.retarget(server_00="web")
    mover.tick()
    assert [(move.status, move.reason) for move in mover.moves("server-00")] == [
        (MoveStatus.CANCELLED, "target_changed")
    ]
    assert mover.server("server-00").current_reservation == "web"
    assert "server-00" not in {step.server for step in mover.actuator.asked}


@pytest.mark.parametrize("step", [MoveStep.PREEMPT, MoveStep.JOIN])
def test_a_server_whose_step_has_no_known_outcome_counts_for_nobody_until_it_is_brought_back(
    mover: Mover, step: MoveStep
) -> None:
    silent = lambda asked: asked.server == "server-00" and asked.step is step  # noqa: E731
    mover.actuator.say = lambda asked: StepState.UNKNOWN if silent(asked) else StepState.DONE
    for _ in range(6):
        mover.tick()
    mover.retarget(server_00="web")  # of a join: it may be in db although it goes back to web
    mover.tick(3601.0)
    lost = mover.moves("server-00")[0]
    assert (lost.status, lost.reason, lost.step) == (MoveStatus.CANCELLED, "target_changed", step)
    doubted = mover.server("server-00")
    may_be_in = "web" if step is MoveStep.PREEMPT else "db"
    assert (doubted.current_reservation, doubted.in_doubt_reservation) == (None, may_be_in)
    mover.actuator.say = lambda asked: StepState.DONE
    mover.settle()
    back = mover.moves("server-00")[-1]
    assert back.steps[:3] == (MoveStep.ABORT, MoveStep.PREEMPT, MoveStep.CLEAN)
    assert (back.from_reservation, back.to_reservation) == (may_be_in, "web")
    known = mover.server("server-00")
    assert (known.current_reservation, known.in_doubt_reservation, known.unclean) == ("web", None, False)


def test_a_free_server_is_cleaned_at_once_though_its_move_was_cancelled_and_forgotten(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.FAILED if step.step is MoveStep.CLEAN else StepState.DONE
    for _ in range(3):
        mover.tick()
    mover.retarget(server_00=None)
    mover.tick(3601.0)
    left = mover.server("server-00")
    assert (left.current_reservation, left.target_reservation, left.unclean) == (None, None, True)
    with mover.database.write() as tx:
        tx.execute(sa.text("SET LOCAL plimsoll.forgetting = 'on'"))
        for table in ("move_steps", "moves"):
            tx.execute(sa.text(f"DELETE FROM {table}"))
    mover.actuator.say = lambda step: StepState.DONE
    mover.settle()
    assert mover.moves("server-00")[-1].steps == (MoveStep.CLEAN,)
    assert not mover.server("server-00").unclean


def test_a_move_that_fails_for_good_reports_its_server_and_is_not_tried_again(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.FAILED if step.server == "server-03" else StepState.DONE
    mover.settle()
    (failed,) = mover.moves("server-03")
    assert (failed.status, failed.reason) == (MoveStatus.FAILED, "move_failed: host_profile")
    assert mover.records(failed) == [("host_profile", 1, "failed"), ("host_profile", 2, "failed")]
    assert mover.server("server-03").unavailability is Unavailability.UNPLANNED
    with mover.database.snapshot() as tx:
        (event,) = list_events(tx, "west", is_open=True).items
    assert (event.scope_name, event.reason) == ("server-03", "move_failed: host_profile")
    assert mover.server("server-00").current_reservation == "db", "the others are not held up"
    # After a repair, it goes where it should.
    mover.actuator.say = lambda step: StepState.DONE
    with mover.database.write() as tx:
        end_event(tx, event.unavailability_event_id, generation=None, actor="olga", now=mover.clock.now())
    mover.settle()
    assert mover.server("server-03").current_reservation == "db"


def test_a_failed_attempt_is_waited_out(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepState.FAILED
    mover.tick()
    asked = len(mover.actuator.asked)
    mover.tick(29.0)
    assert len(mover.actuator.asked) == asked
    mover.actuator.say = lambda step: StepState.DONE
    mover.tick(2.0)
    assert {step.attempt for step in mover.actuator.asked[asked:]} == {2}


def test_a_step_without_an_answer_fails(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.tick()
    mover.tick(601.0)
    messages, moves = set(), mover.moves()
    with mover.database.snapshot() as tx:
        for move in moves:
            messages |= {record.message for record in load_step_records(tx, move.move_id)}
    assert messages == {"no answer in 600 s"}


def test_what_a_server_went_through_meanwhile_is_read_again_before_anything_is_written(mover: Mover) -> None:
    mover.tick()

    def meddle(step: StepRequest) -> StepState:
        if step.server == "server-00" and len(mover.actuator.asked) <= 3:  # the first time
            server = mover.server("server-00")
            change = InUse(server_id=server.server_id, in_use=False, generation=server.generation)
            with mover.database.write() as tx:
                set_in_use(tx, [change], actor="allocator", now=NOW)
        return StepState.DONE

    mover.actuator.say = meddle
    report = mover.tick()
    assert report.left == 1
    assert mover.server("server-00").current_reservation == "web"
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"


def test_an_actuator_that_cannot_be_reached_blames_no_server(mover: Mover) -> None:
    mover.tick()

    def unreachable(step: StepRequest) -> StepState:
        raise ActuatorUnavailable

    mover.actuator.say = unreachable
    for _ in range(3):
        assert mover.tick(1000.0).unanswered == 3
    assert {move.status for move in mover.moves()} == {MoveStatus.RUNNING}


def test_servers_that_are_down_or_in_maintenance_are_left_alone(database: Database, clock: ManualClock) -> None:
    image = region_image(
        reservations=SPECS,
        current={"server-00": "web", "server-02": "web"},
        target={"server-01": "web", "server-02": "web"},
        down={"server-01"},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.settle()
    assert [move.server for move in mover.moves()] == ["server-00"]
    assert mover.server("server-01").current_reservation is None


def test_a_move_of_a_server_in_maintenance_ends_and_begins_again_after_it(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepState.FAILED  # people work on it
    with mover.database.write() as tx:
        event = open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-00",
            kind=Unavailability.PLANNED,
            reason="new disk",
            starts_at=mover.clock.now(),
            ends_at=None,
            actor="olga",
            now=mover.clock.now(),
        )
    for _ in range(10):
        mover.tick(60)
    (move,) = mover.moves("server-00")
    assert (move.status, move.reason) == (MoveStatus.CANCELLED, "server_unavailable")
    assert "server-00" not in {step.server for step in mover.actuator.asked}
    assert mover.server("server-00").unavailability is Unavailability.PLANNED, "it is not blamed"
    mover.actuator.say = lambda step: StepState.DONE
    with mover.database.write() as tx:
        end_event(tx, event.unavailability_event_id, generation=None, actor="olga", now=mover.clock.now())
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"


def test_two_movers_at_once_do_no_harm(database: Database, clock: ManualClock) -> None:
    """As after a worker that was stopped for longer than its lease."""
    servers = [f"server-{i:02d}" for i in range(40)]
    image = region_image(
        servers_per_rack=20,
        reservations=SPECS,
        current=dict.fromkeys(servers[:30], "web"),
        target=dict.fromkeys(servers[10:], "db"),
    )
    stored(database, image)
    mover = Mover(database, clock)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(8):
            clock.sleep(1.0)
            both = [pool.submit(mover.tick, 0.0) for _ in range(2)]
            assert [tick.exception() for tick in both] == [None, None]
    mover.settle()
    assert len(mover.moves()) == 39, "one server of web stays, because web is promised one"
    left = [mover.server(name).current_reservation for name in servers[:10]]
    assert sorted(left, key=str) == [None] * 9 + ["web"]
    assert {mover.server(name).current_reservation for name in servers[10:]} == {"db"}
    for move in mover.moves():
        assert mover.records(move) == [(step.value, 1, "done") for step in move.steps]


def test_unused_servers_go_first_and_an_msb_loses_few_at_a_time(database: Database, clock: ManualClock) -> None:
    servers = [f"server-{i:02d}" for i in range(40)]
    image = region_image(
        msbs=2,
        servers_per_rack=20,
        reservations=SPECS,
        current=dict.fromkeys(servers, "web"),
        target={},
        in_use={name for i, name in enumerate(servers) if i % 2 == 0},
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.policy = MovePolicy(moves_max=100, msb_share_max=0.1, attempts_max=2, backoff=Backoff(30.0), step_s_max=600.0)
    assert mover.tick().started == 4
    assert {int(move.server[-2:]) % 2 for move in mover.moves()} == {1}
    mover.settle()
    assert len(mover.moves()) == 38
    held = [name for name in servers if mover.server(name).current_reservation is not None]
    assert len(held) == 2, "web is promised one, whatever MSB is lost"


def test_an_old_server_leaves_only_when_the_new_one_has_joined(database: Database, clock: ManualClock) -> None:
    stored(
        database,
        region_image(
            reservations={"web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)},
            current={"server-00": "web"},
            target={"server-01": "web"},
            in_use=set(),
        ),
    )
    mover = Mover(database, clock)
    mover.actuator.say = lambda step: StepState.RUNNING
    for _ in range(3):
        mover.tick()
    assert {step.server for step in mover.actuator.asked} == {"server-01"}
    assert mover.moves("server-00") == []
    room = condition(database, RegionConditionType.ROOM_TO_MOVE)
    assert (room.status, room.reason) == (ConditionStatus.FALSE, "CapacityMissing")
    assert "because it would fall below what it must keep: 1 of web" in room.message
    mover.actuator.say = lambda step: StepState.DONE
    mover.settle()
    assert mover.server("server-01").current_reservation == "web"
    assert mover.server("server-00").current_reservation is None
    assert condition(database, RegionConditionType.ROOM_TO_MOVE).status is ConditionStatus.TRUE


def condition(database: Database, kind: RegionConditionType) -> RegionCondition:
    with database.snapshot() as tx:
        (told,) = [one for _, one in load_all_conditions(tx) if one.type is kind]
    return told
