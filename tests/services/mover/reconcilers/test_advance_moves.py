"""Test moves on a real database, with an actuator that the test controls."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from libs.actuators.actuator import ActuatorUnavailable, StepRequest, StepState
from libs.domain.move import MoveStatus, MoveStep
from libs.domain.unavailability import Unavailability
from libs.reconcile.calls import Backoff
from libs.store.fleet.servers import InUse, set_in_use
from libs.store.fleet.unavailability_events import end_event, list_events
from libs.store.moves.move_history import load_step_records
from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from services.mover.moves_plan import MovePolicy
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover
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
    assert by_server["server-00"].steps == tuple(MoveStep)
    assert by_server["server-02"].steps == (MoveStep.PREEMPT, MoveStep.CLEAN)
    assert by_server["server-03"].steps == (MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert mover.records(by_server["server-00"]) == [(step.value, 1, "done") for step in MoveStep]
    moved, freed = mover.server("server-00"), mover.server("server-02")
    assert (moved.current_reservation, moved.host_profile, moved.in_use) == ("db", "big-pages", False)
    assert (freed.current_reservation, freed.host_profile) == (None, "default")
    assert mover.server("server-01").current_reservation == "web"


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
    mover.retarget(server_00="web")
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
        reservations=SPECS, current={"server-00": "web"}, target={"server-01": "web"}, down={"server-01"}
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.settle()
    assert [move.server for move in mover.moves()] == ["server-00"]
    assert mover.server("server-01").current_reservation is None


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
            assert sum(not isinstance(tick.exception(), UNAVAILABLE) for tick in both) >= 1  # a deadlock ends one
            assert all(tick.exception() is None or isinstance(tick.exception(), UNAVAILABLE) for tick in both)
    mover.settle()
    assert len(mover.moves()) == 40
    assert {mover.server(name).current_reservation for name in servers[:10]} == {None}
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
    assert len(mover.moves()) == 40
    assert all(mover.server(name).current_reservation is None for name in servers)
