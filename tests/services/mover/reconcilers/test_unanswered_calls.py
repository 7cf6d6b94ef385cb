"""Test actuators that answer late or never: the time of the next call, and the servers that must not be blamed."""

from collections.abc import Sequence

from libs.actuators.actuator import ActuatorUnavailable, StepOutcome, StepRequest, StepState
from libs.domain.move import DeadLetter, MoveStatus
from libs.domain.unavailability import Unavailability
from libs.observability.tallies import take
from libs.reconcile.call_retries import BREAKER
from libs.store.moves.movers import pause_mover
from libs.store.platform.database import Database
from libs.store.platform.tallies import add_tallies
from libs.web.database_metrics import DatabaseCollector
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, UNKNOWN, Answers, Mover, conditions, dead_letter, http
from tests.builders.region import region_image
from tests.builders.stored import stored


def test_a_call_without_an_answer_is_made_again_later_with_the_same_key_and_blames_nobody(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: UNKNOWN
    mover.tick()
    waits = []
    for _ in range(3):
        asked = len(mover.actuator.asked)
        waited = 0
        while len(mover.actuator.asked) == asked:
            mover.tick(1.0)
            waited += 1
        waits.append(waited)
    assert waits == [5, 10, 30], "twice as long each time, then as long as the breaker says"
    assert len({(s.move_id, s.step, s.attempt) for s in mover.actuator.asked}) == 1
    (move,) = mover.moves()
    assert (move.calls_failed, move.note, move.attempt) == (4, "HTTP 503: busy", 1)
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    mover.clock.sleep(600)
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"


def test_retry_after_is_honoured(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING, ask_again_s=40.0, call="accepted")
    mover.tick()
    mover.tick(39.0)
    assert len(mover.actuator.asked) == 1
    mover.tick(2.0)
    assert len(mover.actuator.asked) == 2


def test_who_has_waited_longest_is_asked_first(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(reservations=SPECS, target={f"server-{i:02d}": "web" for i in range(6)}))
    mover = Mover(database, clock)
    mover.actuator = Answers()  # type: ignore[assignment]
    mover.tick()
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING, ask_again_s=0.5, call="accepted")

    def only_two(steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        mover.actuator.asked += steps[:2]
        later = StepOutcome(state=StepState.RUNNING, ask_again_s=0.5, call="accepted")
        return [later] * 2 + [StepOutcome(state=StepState.NOT_ASKED)] * (len(steps) - 2)

    mover.actuator.perform = only_two  # type: ignore[method-assign]
    for _ in range(3):
        mover.tick()
    assert sorted(step.server for step in mover.actuator.asked) == [f"server-{i:02d}" for i in range(6)]


def test_a_step_that_never_gets_an_answer_becomes_a_dead_letter_and_its_server_is_not_to_blame(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: UNKNOWN
    for _ in range(100):
        mover.tick(301.0)
    (move,) = mover.moves()
    assert (move.status, move.reason, move.dead_letter) == (MoveStatus.FAILED, "no_answer: preempt", DeadLetter.OPEN)
    assert mover.server("server-00").unavailability is Unavailability.NONE
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    mover.settle()
    assert len(mover.moves()) == 1, "it waits for somebody"
    assert http(mover).post(f"/v1/moves/{move.move_id}/retry", json={"reason": "it is back"}).status_code == 200
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"


def test_the_breaker_opens_probes_and_closes(mover: Mover) -> None:
    mover.tick()

    def unreachable(step: StepRequest) -> StepOutcome:
        raise ActuatorUnavailable("no route to host")

    mover.actuator.say = unreachable
    for _ in range(BREAKER.after):
        assert mover.tick().unanswered == 1
    open_now = conditions(mover)["ActuatorReachable"]
    assert (open_now.status.value, open_now.reason) == ("False", "NoAnswer")
    assert "no route to host" in open_now.message
    asked = len(mover.actuator.asked)
    mover.retarget(server_01="web")
    report = mover.tick(BREAKER.probes.first_s - 5.0)
    assert (report.asked, report.started, len(mover.actuator.asked)) == (0, 0, asked)
    mover.tick(10.0)
    assert len(mover.actuator.asked) == asked + 1, "one step probes"
    mover.tick(BREAKER.probes.first_s + 5.0)
    assert len(mover.actuator.asked) == asked + 1, "and then it waits twice as long"
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING, call="accepted", ask_again_s=0.0)
    mover.tick(3000.0)
    assert conditions(mover)["ActuatorReachable"].status.value == "True"
    mover.tick()
    (move,) = mover.moves("server-00")
    assert (move.status, move.attempt) == (MoveStatus.RUNNING, 1), "the outage counts against nobody"


def test_metrics_tell_of_calls_dead_letters_and_pauses(mover: Mover) -> None:
    take()  # what other tests have counted
    mover.tick()
    mover.actuator.say = lambda step: UNKNOWN
    mover.tick()
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE, call="done")
    mover.tick(10.0)
    dead_letter(mover)
    with mover.database.write() as tx:
        pause_mover(tx, "west", reason="x", actor="olga", now=mover.clock.now())
        add_tallies(tx, take())
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in DatabaseCollector(mover.database).collect()
        for sample in family.samples
    }
    assert found["plimsoll_actuator_calls_total", "server_error", "west"] == 1
    assert found["plimsoll_actuator_calls_total", "done", "west"] == 1
    assert found["plimsoll_dead_letters", "west"] == 1
    assert found["plimsoll_region_condition", "Moving", "Paused", "west"] == 0


def test_steps_that_a_tick_had_no_time_for_are_not_judged(mover: Mover) -> None:
    mover.tick()
    mover.actuator.say = lambda step: StepOutcome(state=StepState.NOT_ASKED)
    for _ in range(5):
        mover.tick(1000.0)
    (move,) = mover.moves()
    assert (move.status, move.attempt, move.calls_failed) == (MoveStatus.RUNNING, 1, 0)
    assert "ActuatorReachable" not in conditions(mover)
