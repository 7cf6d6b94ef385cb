"""Test silent receivers, intervening operators and urgent replacements, on a real database."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.actuators.actuator import ActuatorUnavailable, StepOutcome, StepRequest, StepState
from libs.domain.move import DeadLetter, MoveStatus, MoveStep
from libs.domain.mover import MoverBounds
from libs.domain.principal import Role
from libs.domain.region_condition import RegionCondition
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.domain.unavailability import Unavailability
from libs.observability.tallies import take
from libs.reconcile.calls import BREAKER
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import announce_retirement
from libs.store.fleet.unavailability_events import list_events, lock_events
from libs.store.moves.movers import load_mover, pause_mover, resume_mover, set_bounds
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.platform.tallies import add_tallies
from libs.store.platform.tokens import create_token
from libs.store.regions.region_conditions import load_conditions
from libs.web.app import create_app
from libs.web.auth import digest, new_secret
from libs.web.platform_metrics import PlatformCollector
from services.broker.api import ROUTERS as BROKER
from services.broker.reconcilers.finish_retirements import FinishRetirements
from services.mover.api import ROUTERS
from tests.builders.race import wait_for_a_lock
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.services.mover.conftest import ManualClock
from tests.services.mover.reconcilers.test_advance_moves import SPECS, Mover

UNKNOWN = StepOutcome(state=StepState.UNKNOWN, message="HTTP 503: busy", call="server_error")


class Answers:
    """Answers each request by `say`, and keeps them."""

    def __init__(self) -> None:
        self.asked: list[StepRequest] = []
        self.say = lambda step: StepOutcome(state=StepState.DONE, call="done")

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        self.asked += steps
        return [self.say(step) for step in steps]


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """server-00 goes from web to db, through all four steps."""
    stored(database, region_image(reservations=SPECS, current={"server-00": "web"}, target={"server-00": "db"}))
    mover = Mover(database, clock)
    mover.actuator = Answers()  # type: ignore[assignment]
    return mover


def conditions(mover: Mover) -> dict[str, RegionCondition]:
    with mover.database.snapshot() as tx:
        region_id = load_region(tx, "west").region_id
        return {c.type.value: c for c in load_conditions(tx, [region_id])[region_id]}


def bound(mover: Mover, **bounds: object) -> None:
    with mover.database.write() as tx:
        generation = load_mover(tx, "west").generation
        set_bounds(tx, "west", MoverBounds(**bounds), generation=generation, actor="olga", now=NOW)  # type: ignore[arg-type]


def http(mover: Mover, role: Role = Role.OPERATOR) -> TestClient:
    secret = new_secret()
    with mover.database.write() as tx:
        create_token(tx, name=f"token-{role}", role=role, secret_sha256=digest(secret), now=NOW)
    routers = [*ROUTERS, *BROKER]
    app = create_app(title="t", version="1", database=mover.database, clock=mover.clock, routers=routers)
    return TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def dead_letter(mover: Mover, at: MoveStep = MoveStep.CLEAN) -> int:
    """Let server-00's move fail for good at this step; return its id."""
    say = mover.actuator.say
    mover.actuator.say = lambda step: StepOutcome(
        state=StepState.FAILED if step.step is at else StepState.DONE, message="no"
    )
    mover.settle()
    mover.actuator.say = say
    (move,) = mover.moves("server-00")
    assert (move.status, move.step, move.dead_letter) == (MoveStatus.FAILED, at, DeadLetter.OPEN)
    return move.move_id


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


def test_an_operator_retries_a_dead_letter(mover: Mover) -> None:
    move_id = dead_letter(mover)
    client = http(mover)
    listed = client.get("/v1/moves", params={"dead_letter": "open"}).json()["items"]
    assert [move["move_id"] for move in listed] == [move_id]
    answer = client.post(f"/v1/moves/{move_id}/retry", json={"reason": "new disk"})
    assert (answer.status_code, answer.json()["dead_letter"]) == (200, "retried")
    with mover.database.snapshot() as tx:
        assert list_events(tx, "west", is_open=True).items == ()
        (entry,) = audit.list_entries(tx, subject_kind="move").items
    assert (entry.actor, entry.action, entry.reason) == ("token-operator", "retry_move", "new disk")
    mover.settle()
    assert mover.moves("server-00")[-1].steps == (MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN)
    assert mover.server("server-00").current_reservation == "db"
    again = client.post(f"/v1/moves/{move_id}/retry", json={"reason": "once more"})
    assert (again.status_code, again.json()["code"]) == (409, "wrong_phase")


@pytest.mark.parametrize("step", list(MoveStep))
def test_an_operator_skips_a_step_that_was_done_by_hand(mover: Mover, step: MoveStep) -> None:
    move_id = dead_letter(mover, step)
    answer = http(mover).post(f"/v1/moves/{move_id}/skip", json={"reason": "did it myself"})
    assert (answer.status_code, answer.json()["dead_letter"]) == (200, "skipped")
    mover.settle()
    (move,) = mover.moves()
    assert move.status is MoveStatus.DONE
    assert (step.value, 3, "skipped") in mover.records(move)
    server = mover.server("server-00")
    assert (server.current_reservation, server.host_profile) == ("db", "big-pages")
    assert server.unavailability is Unavailability.NONE


def test_a_skipped_step_of_a_move_that_nobody_wants_any_more_ends_it(mover: Mover) -> None:
    move_id = dead_letter(mover, MoveStep.PREEMPT)
    mover.retarget(server_00=None)
    assert http(mover).post(f"/v1/moves/{move_id}/skip", json={"reason": "by hand"}).json()["status"] == "cancelled"
    assert mover.server("server-00").current_reservation is None


def test_a_dead_letter_goes_with_its_server(mover: Mover) -> None:
    move_id = dead_letter(mover, MoveStep.JOIN)
    mover.retarget(server_00=None)
    with mover.database.write() as tx:
        announce_retirement(
            tx,
            "west",
            scope=RetirementScope.SERVER,
            scope_name="server-00",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="beyond repair",
            due_at=mover.clock.now(),
            back_at=None,
            actor="olga",
            now=mover.clock.now(),
        )
    assert FinishRetirements(mover.database, mover.clock, "west").reconcile() == (1, 0)
    client = http(mover)
    assert client.get("/v1/moves", params={"dead_letter": "open"}).json()["items"] == []
    refused = client.post(f"/v1/moves/{move_id}/skip", json={"reason": "by hand"})
    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_phase")


def test_moves_fail_in_the_order_of_locks_of_everybody_else(mover: Mover) -> None:
    """Skipping a step or ending an event locks the events first. It would wait for a move that waits for the events."""
    with ThreadPoolExecutor(1) as pool:
        with mover.database.write() as tx:
            lock_events(tx, load_region(tx, "west").region_id)
            failing = pool.submit(dead_letter, mover, MoveStep.CLEAN)
            wait_for_a_lock(mover.database, failing.done)
            assert tx.execute(sa.text("SELECT count(*) FROM (SELECT FROM moves FOR UPDATE NOWAIT) AS m")).scalar() == 1
        assert failing.result()


def test_moves_that_did_not_fail_cannot_be_retried_or_skipped(mover: Mover) -> None:
    mover.settle()
    client = http(mover)
    for verb in ("retry", "skip"):
        answer = client.post(f"/v1/moves/{mover.moves()[0].move_id}/{verb}", json={"reason": "why not"})
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_phase")
        assert client.post(f"/v1/moves/999/{verb}", json={"reason": "why not"}).status_code == 404
        assert client.post(f"/v1/moves/1/{verb}", json={}).status_code == 422
        assert (
            http(mover, Role(f"{'viewer' if verb == 'retry' else 'requester'}"))
            .post(f"/v1/moves/1/{verb}", json={"reason": "x"})
            .status_code
            == 403
        )


def test_paused_no_step_begins_and_the_pause_counts_against_none(mover: Mover) -> None:
    mover.tick()
    client = http(mover)
    paused = client.post("/v1/movers/west/pause", json={"reason": "power work"}).json()
    assert paused["paused_reason"] == "power work"
    region = client.get("/v1/regions/west").json()
    (moving,) = [c for c in region["conditions"] if c["type"] == "Moving"]
    assert (moving["status"], moving["reason"]) == ("False", "Paused")
    assert "power work" in moving["message"]
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING)
    mover.tick()
    assert len(mover.actuator.asked) == 1, "what had begun goes on"
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    for _ in range(5):
        mover.tick(1000.0)
    assert [step.step for step in mover.actuator.asked] == [MoveStep.PREEMPT] * 2, "and the next one does not begin"
    mover.retarget(server_01="web")
    assert mover.tick().started == 0
    mover.actuator.say = lambda step: StepOutcome(state=StepState.RUNNING)
    assert client.post("/v1/movers/west/resume", json={"reason": "done"}).json()["paused_at"] is None
    mover.tick()
    assert mover.moves("server-00")[0].attempt == 1
    mover.actuator.say = lambda step: StepOutcome(state=StepState.DONE)
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"
    assert mover.server("server-01").current_reservation == "web"


def test_a_paused_move_that_is_not_wanted_any_more_is_cancelled(mover: Mover) -> None:
    mover.tick()
    with mover.database.write() as tx:
        pause_mover(tx, "west", reason="x", actor="olga", now=mover.clock.now())
    mover.tick()
    mover.retarget(server_00=None)
    mover.tick()
    (move,) = mover.moves()
    assert (move.status, move.reason) == (MoveStatus.CANCELLED, "target_changed")
    with mover.database.write() as tx:
        resume_mover(tx, "west", reason="x", actor="olga", now=mover.clock.now())


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


def test_bounds_per_msb_hold_for_every_move(database: Database, clock: ManualClock) -> None:
    servers = [f"server-{i:02d}" for i in range(40)]
    stored(database, region_image(servers_per_rack=20, reservations=SPECS, target=dict.fromkeys(servers, "web")))
    mover = Mover(database, clock)
    bound(mover, msb_moves_max=3)
    assert mover.tick().started == 6
    bound(mover, msb_starts_per_minute=4)
    assert mover.tick().started == 2, "three of four have started in each this minute"
    assert mover.tick().started == 0
    assert mover.tick(61.0).started == 8
    bound(mover, moves_max=1)
    mover.settle()
    assert len(mover.moves()) == 40


def test_replacements_start_before_and_beyond_everything_else(database: Database, clock: ManualClock) -> None:
    servers = [f"server-{i:02d}" for i in range(20)]
    image = region_image(
        servers_per_rack=20,
        reservations={**SPECS, "spare": SPECS["web"]},
        kind={"spare": "shared_buffer"},
        current={**dict.fromkeys(servers[10:], "web"), "server-05": "spare", "server-06": "spare"},
        target={**dict.fromkeys(servers, "web"), "server-06": "spare"} | dict.fromkeys(servers[10:], "db"),
    )
    stored(database, image)
    mover = Mover(database, clock)
    mover.policy = replace(mover.policy, moves_max=2, msb_share_max=0.01)
    mover.actuator.say = lambda step: StepState.RUNNING
    mover.tick()
    assert "server-05" in {move.server for move in mover.moves()}
    mover.retarget(server_06="web")
    mover.tick(0.0)
    running = [move.server for move in mover.moves() if move.status is MoveStatus.RUNNING]
    assert "server-06" in running
    assert len(running) == 3, "one more than may be under way"


def test_operators_set_bounds_by_generation(mover: Mover) -> None:
    client = http(mover)
    read = client.get("/v1/movers/west")
    assert (read.json()["moves_max"], read.headers["ETag"]) == (None, '"1"')
    change = {"msb_moves_max": 5, "msb_share_max": 0.5}
    assert client.patch("/v1/movers/west", json=change).status_code == 428
    done = client.patch("/v1/movers/west", json=change, headers={"If-Match": '"1"'})
    assert (done.status_code, done.json()["msb_moves_max"]) == (200, 5)
    assert client.patch("/v1/movers/west", json=change, headers={"If-Match": '"1"'}).status_code == 409
    taken_back = client.patch("/v1/movers/west", json={"msb_moves_max": None}, headers=done_etag(done))
    assert (taken_back.json()["msb_moves_max"], taken_back.json()["msb_share_max"]) == (None, 0.5)
    for wrong in ({"moves_max": 0}, {"msb_share_max": 1.5}, {"unknown": 1}):
        assert client.patch("/v1/movers/west", json=wrong, headers=done_etag(taken_back)).status_code == 422
    assert client.get("/v1/movers/nowhere").status_code == 404
    assert http(mover, Role.VIEWER).post("/v1/movers/west/pause", json={"reason": "x"}).status_code == 403


def done_etag(response: object) -> dict[str, str]:
    return {"If-Match": response.headers["ETag"]}  # type: ignore[attr-defined]


def test_metrics_tell_of_calls_dead_letters_and_pauses(mover: Mover) -> None:
    take()  # drop the counts of other tests
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
        for family in PlatformCollector(mover.database).collect()
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
