"""Test executions on a real database, with systems that the test controls."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.capacity_event import EventChange, EventStatus
from libs.domain.execution_plan import Action, Phase
from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.plan_execution import ActionState, Command, CommandLevel, ExecutionState, RecordedCommand, Verb
from libs.domain.violation import Violation
from libs.executions.give_command import CommandRefused, give_or_refuse
from libs.plan_check.check import PlanRefusedError
from libs.reconcile.crash import crash_points_heard
from libs.store.executions.commands import list_commands, list_readings
from libs.store.ledger.changes import change_events
from libs.store.planner.executed_changes import load_executed_shares
from libs.store.platform.audit import list_entries
from libs.store.platform.refusals import NotFound
from libs.store.retention.of_planning import forget_plan_runs
from services.orchestrator.create_execution import CannotExecute
from tests.builders.executed_plan import DONE, Orchestrator, store_plan
from tests.builders.execution import TERMS, two_products
from tests.crash.points import crash_points

SHOP, FRONT = "shift/shop/east/west", "upsize/shop-front/west/compute"
GATE = Gate(name="errors", time=GateTime.FRACTION, query="e", most=0.01, mode=GateMode.REVERSE, age_s_max=900.0)


def shares(orchestrator: Orchestrator) -> dict[str, float]:
    with orchestrator.database.snapshot() as tx:
        return {phase: found.share for phase, found in load_executed_shares(tx, plans=5).items()}


def until_moved(orchestrator: Orchestrator, share: float) -> None:
    for _ in range(60):
        if orchestrator.world.moved.get(SHOP, 0.0) > share - 1e-9:
            return
        orchestrator.tick()
    raise AssertionError("it never moved so much")


def test_it_comes_to_its_end_and_the_ledger_shows_it(orchestrator):
    execution_id = orchestrator.start()
    events = orchestrator.events()
    assert {event.status for event in events.values()} == {EventStatus.APPROVED}
    assert orchestrator.run(execution_id) is ExecutionState.DONE
    assert set(orchestrator.states(execution_id).values()) == {ActionState.DONE}
    for event in orchestrator.events().values():
        assert event.status is EventStatus.SUCCEEDED
        assert event.achieved == pytest.approx(event.effect.amount)
    assert shares(orchestrator) == {"upsize": pytest.approx(1.0), "downsize": pytest.approx(1.0)}
    assert orchestrator.world.moved[SHOP] == pytest.approx(0.1)


def test_the_ledger_shows_the_part_of_a_shift_that_has_happened(orchestrator):
    execution_id = orchestrator.start()
    until_moved(orchestrator, 0.025)
    event = orchestrator.events()[SHOP]
    assert (event.status, event.achieved) == (EventStatus.ACTIVE, pytest.approx(0.025))
    orchestrator.command(execution_id, Verb.ABORT)
    orchestrator.run(execution_id, 3)
    event = orchestrator.events()[SHOP]
    assert (event.status, event.achieved) == (EventStatus.CANCELLED, pytest.approx(0.025))


def test_what_was_done_is_taken_back_by_an_execution_of_its_own(orchestrator):
    execution_id = orchestrator.start()
    until_moved(orchestrator, 0.1)
    assert orchestrator.command(execution_id, Verb.REVERSE).execution.state is ExecutionState.REVERSING
    orchestrator.run(execution_id)
    assert orchestrator.load(execution_id).state is ExecutionState.REVERSED
    back = orchestrator.load(execution_id + 1)
    assert (back.reverses_execution_id, back.state) == (execution_id, ExecutionState.DONE)
    events = orchestrator.events()
    total = {}
    for event in events.values():
        e = event.effect
        place = getattr(e, "service", None) or tuple(sorted((e.product, e.from_region, e.to_region)))
        sign = -1 if event.action.endswith("/back") and not hasattr(e, "service") else 1
        total[place, getattr(e, "region", "")] = (
            total.get((place, getattr(e, "region", "")), 0.0) + sign * event.achieved
        )
    assert all(abs(amount) < 1e-9 for amount in total.values())
    assert shares(orchestrator) == {"upsize": 0.0, "downsize": 0.0}


def test_only_one_execution_works_on_a_place(orchestrator):
    first = orchestrator.start()
    orchestrator.tick()
    with pytest.raises(CannotExecute, match=f"Plan execution {first} of placement plan"):
        orchestrator.create()
    assert orchestrator.command(first, Verb.SUPERSEDE).execution.state is ExecutionState.SUPERSEDING
    orchestrator.run(first, 3)
    assert orchestrator.load(first).state is ExecutionState.SUPERSEDED
    assert EventStatus.SUPERSEDED in {event.status for event in orchestrator.events().values()}
    second = orchestrator.start()
    assert orchestrator.run(second) is ExecutionState.DONE


def test_a_plan_does_not_move_its_traffic_twice(orchestrator):
    first = orchestrator.start()
    until_moved(orchestrator, 0.1)
    orchestrator.command(first, Verb.REVERSE)
    orchestrator.run(first)
    second = orchestrator.start()  # all of it was taken back
    assert orchestrator.run(second) is ExecutionState.DONE
    with pytest.raises(CannotExecute, match=f"Plan execution {second} of placement plan .* has moved traffic"):
        orchestrator.create()
    assert orchestrator.world.moved[SHOP] == pytest.approx(0.1)


def test_a_plan_whose_traffic_may_have_moved_is_not_executed_again(orchestrator):
    first = orchestrator.start()
    until_moved(orchestrator, 0.025)
    orchestrator.command(first, Verb.ABORT)
    orchestrator.run(first, 3)
    with pytest.raises(CannotExecute, match=f"Plan execution {first} of placement plan .* has moved traffic"):
        orchestrator.create()


def test_a_refused_command_is_recorded_and_changes_nothing(orchestrator):
    execution_id = orchestrator.start()
    before = orchestrator.load(execution_id)
    given = orchestrator.command(execution_id, Verb.RETRY, FRONT)
    assert (given.record.code, orchestrator.load(execution_id)) == ("NothingFailed", before)
    with orchestrator.database.snapshot() as tx:
        (_, refused), (_, started) = list_commands(tx, execution_id, before=None, limit=10).items
    assert (refused.code, refused.actor, started.code) == ("NothingFailed", "olga", None)


def test_a_bad_gate_reverses_the_shift_and_its_readings_are_kept(orchestrator):
    orchestrator.world.value = lambda question: 0.5 if question.action.product == "shop" else 0.0
    execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
    orchestrator.run(execution_id)
    states = orchestrator.states(execution_id)
    assert (states[SHOP], states["shift/feed/north/east"]) == (ActionState.REVERSED, ActionState.DONE)
    assert orchestrator.world.moved[SHOP] == 0.0
    with orchestrator.database.snapshot() as tx:
        position = list(states).index(SHOP)
        reading = list_readings(tx, execution_id, position, limit=1)[0]
    assert (reading.value, reading.query, reading.bound) == (0.5, "e", "<= 0.01")


def test_a_person_who_pauses_meanwhile_is_not_overtaken(orchestrator):
    execution_id = orchestrator.start()

    def pause(request):
        if orchestrator.load(execution_id).state is ExecutionState.RUNNING:
            orchestrator.command(execution_id, Verb.PAUSE)
        return DONE

    orchestrator.world.say = pause
    orchestrator.tick()
    assert orchestrator.states(execution_id)[FRONT] is ActionState.RUNNING
    orchestrator.run(execution_id, 3)
    assert orchestrator.load(execution_id).state is ExecutionState.PAUSED
    assert orchestrator.states(execution_id)[FRONT] is ActionState.DONE


class Killed(BaseException):
    """Ends a tick as a kill would."""


def answers(request) -> Answer:
    """Some requests fail once, some take their time, and then all is done."""
    luck = sum(map(ord, request.action.action)) % 3
    attempt = int(request.key.rsplit("/", 1)[1])
    return Answer(outcome=Outcome.FAILED, message="500") if luck == 0 and attempt == 1 else DONE


def reached_points(orchestrator: Orchestrator) -> Iterator[str]:
    heard: list[str] = []
    orchestrator.world.say = answers
    with crash_points_heard(heard.append):
        execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
        assert orchestrator.run(execution_id) is ExecutionState.DONE
    yield from heard


def test_a_crash_anywhere_loses_nothing_and_repeats_nothing(orchestrator):
    """Kill every tick of a run at each of its points in turn: the end is the same, and every key has one effect."""
    points = set(reached_points(orchestrator))
    assert points == {point for point in crash_points() if point.startswith("orchestrator.")}
    first = dict(orchestrator.world.sizes), dict(orchestrator.world.moved)
    for point in sorted(points):
        orchestrator.world.__init__()
        orchestrator.plan_again()
        orchestrator.world.say = answers
        seen = 0

        def kill(name: str, point: str = point) -> None:
            nonlocal seen
            seen += name == point
            if name == point and seen % 2:
                raise Killed

        execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
        with crash_points_heard(kill):
            for _ in range(200):
                with suppress(Killed):
                    orchestrator.tick()
        assert seen > 2
        assert orchestrator.load(execution_id).state is ExecutionState.DONE, point
        assert (orchestrator.world.sizes, orchestrator.world.moved) == first
        assert len(set(orchestrator.world.effects)) == len(orchestrator.world.effects)
        for event in orchestrator.events().values():
            assert event.achieved == pytest.approx(event.effect.amount)


def test_an_execution_is_forgotten_with_its_plan_and_not_before_it_has_ended(orchestrator):
    execution_id = orchestrator.start(replace(TERMS, gates=(GATE,)))
    orchestrator.tick()
    store_plan(orchestrator.database, two_products(), orchestrator.clock)

    def forget() -> int:
        with orchestrator.database.write() as tx:
            return forget_plan_runs(tx, before=orchestrator.clock.now(), executed_plans=0, most=10)

    orchestrator.tick()
    assert forget() == 0
    assert orchestrator.run(execution_id) is ExecutionState.DONE
    assert forget() == 1
    with pytest.raises(NotFound):
        orchestrator.load(execution_id)


def grow(service: str, before: float, after: float, **more: Any) -> Action:
    return Action(
        action=f"upsize/{service}/east/hw",
        phase=Phase.UPSIZE,
        service=service,
        region="east",
        hardware_type="hw",
        before=before,
        after=after,
        **more,
    )


@pytest.mark.parametrize("ends_first", [True, False])
def test_executions_that_share_a_pool_never_use_its_room_twice(orchestrator, database, clock, ends_first):
    """The later one fills the pool while the earlier one is paused, and what it added counts when it has ended too."""
    orchestrator.plan_id = store_plan(database, (grow("a", 10.0, 20.0),), clock, room=25.0)
    first = orchestrator.start()
    orchestrator.command(first, Verb.PAUSE)
    orchestrator.tick()
    orchestrator.plan_id = store_plan(database, (grow("b", 5.0, 15.0), grow("c", 0.0, 1.0)), clock, room=25.0)
    second = orchestrator.start()
    orchestrator.command(second, Verb.PAUSE, "" if ends_first else "upsize/c/east/hw")
    orchestrator.command(second, Verb.RESUME) if ends_first else None
    orchestrator.run(second, 5)
    assert (orchestrator.load(second).state is ExecutionState.DONE) is ends_first
    orchestrator.command(first, Verb.RESUME)
    orchestrator.run(first, 5)
    assert orchestrator.states(first) == {"upsize/a/east/hw": ActionState.WAITING}
    assert ("a", "east") not in orchestrator.world.sizes


def test_workers_that_decide_at_the_same_time_do_not_use_room_twice(orchestrator, database, clock):
    """A worker decides and is slow to write. Another one fills the pool meanwhile, for another execution."""
    asks = grow("a", 10.0, 20.0, approval=("OwnerApproves",))
    orchestrator.plan_id = store_plan(database, (asks,), clock, room=25.0)
    first = orchestrator.start()
    orchestrator.plan_id = store_plan(database, (grow("b", 10.0, 18.0),), clock, room=25.0)
    second = orchestrator.start()
    heard: list[str] = []

    def other_worker(point: str) -> None:
        heard.append(point)
        if heard == ["orchestrator.write.before"]:
            orchestrator.command(first, Verb.APPROVE, asks.action)
            orchestrator.tick(0.0)

    with crash_points_heard(other_worker):
        orchestrator.tick()
    began = [service for service in ("a", "b") if (service, "east") in orchestrator.world.sizes]
    assert began == ["a"]
    assert orchestrator.states(second) == {"upsize/b/east/hw": ActionState.WAITING}


def test_an_execution_counts_what_waited_for_approval_when_it_was_planned(orchestrator, database, clock):
    waits = grow("a", 10.0, 20.0, approval=("OwnerApproves",))
    orchestrator.plan_id = store_plan(database, (waits, grow("b", 5.0, 6.0)), clock, room=30.0)
    first = orchestrator.start()
    orchestrator.run(first, 5)
    orchestrator.plan_id = store_plan(database, (grow("c", 10.0, 18.0),), clock, room=25.0)
    second = orchestrator.start()
    orchestrator.command(first, Verb.APPROVE, waits.action)
    orchestrator.run(first, 5)
    assert orchestrator.load(first).state is ExecutionState.DONE
    assert orchestrator.states(second) == {"upsize/c/east/hw": ActionState.WAITING}


def resize(service: str, before: float, after: float, phase: Phase = Phase.UPSIZE) -> Action:
    name = f"{phase}/{service}/east/hw"
    place = {"service": service, "region": "east", "hardware_type": "hw"}
    return Action(action=name, phase=phase, before=before, after=after, **place)


def cancel(orchestrator: Orchestrator, action: str) -> None:
    event = orchestrator.events()[action]
    gone = EventChange(
        capacity_event_id=event.capacity_event_id, generation=event.generation, status=EventStatus.CANCELLED
    )
    with orchestrator.database.write() as tx:
        change_events(tx, [gone], actor="otto", now=orchestrator.clock.now())


def commands_of(orchestrator: Orchestrator, execution_id: int) -> list[RecordedCommand]:
    with orchestrator.database.snapshot() as tx:
        return [one for _, one in list_commands(tx, execution_id, before=None, limit=50).items]


def test_a_draft_for_the_same_place_does_not_hold_what_is_taken_back(orchestrator, database, clock):
    def plan(*actions: Action) -> None:
        orchestrator.plan_id = store_plan(database, actions, clock, room=100.0)

    plan(resize("a", 10.0, 20.0), resize("z", 1.0, 2.0))
    slow = Answer(outcome=Outcome.RUNNING)
    orchestrator.world.say = lambda request: slow if request.action.service == "z" else DONE
    first = orchestrator.start()
    orchestrator.run(first, 3)
    plan(resize("a", 20.0, 25.0))
    orchestrator.create()
    draft = orchestrator.events()["upsize/a/east/hw"]
    plan(resize("q", 5.0, 6.0))
    third = orchestrator.start()
    orchestrator.command(first, Verb.REVERSE)
    orchestrator.world.say = lambda request: DONE
    assert orchestrator.run(first, 8) is ExecutionState.REVERSED
    assert orchestrator.load(third).state is ExecutionState.DONE
    assert orchestrator.world.sizes["a", "east"] == 10.0
    back = orchestrator.events()["upsize/a/east/hw/back"]
    with database.snapshot() as tx:
        about = {"subject_kind": "capacity_event", "subject_id": back.capacity_event_id}
        [entry] = list_entries(tx, **about, action="propose").items
    assert entry.after["despite"] == [draft.capacity_event_id]
    assert entry.reason == f"takes back execution {first}"


def test_a_cancelled_event_stops_its_own_branch_alone(orchestrator):
    execution_id = orchestrator.start()
    orchestrator.tick()
    cancel(orchestrator, SHOP)
    orchestrator.run(execution_id)
    states = orchestrator.states(execution_id)
    assert states[SHOP] is ActionState.FAILED
    assert states["shift/feed/north/east"] is ActionState.DONE
    assert SHOP not in orchestrator.world.moved, "what was cancelled does not happen"
    event = orchestrator.events()[SHOP]
    notes = orchestrator.notes(execution_id)
    assert notes[SHOP] == f"LedgerRefuses: capacity event {event.capacity_event_id} is cancelled"
    for action in [name for name, state in states.items() if state is ActionState.FAILED]:
        orchestrator.command(execution_id, Verb.SKIP, action)
    assert orchestrator.run(execution_id) is ExecutionState.DONE


def test_an_event_whose_antecedent_was_cancelled_waits_for_a_person(orchestrator):
    execution_id = orchestrator.start()
    until_moved(orchestrator, 0.1 * TERMS.fractions[0])
    cancel(orchestrator, SHOP)
    orchestrator.run(execution_id)
    [name] = [one for one, state in orchestrator.states(execution_id).items() if state is ActionState.FAILED]
    assert name == "downsize/shop-front/east/compute"
    shift = orchestrator.events()[SHOP].capacity_event_id
    assert orchestrator.notes(execution_id)[name].endswith(f"needs event {shift}, which is cancelled")
    orchestrator.command(execution_id, Verb.TAKE_OVER, name)
    done = RecordedCommand(
        command=Command(level=CommandLevel.ACTION, verb=Verb.COMPLETE, subject=name),
        actor="olga",
        given_at=orchestrator.clock.now(),
    )
    with pytest.raises(CommandRefused, match="the ledger refuses it"), orchestrator.database.write() as tx:
        give_or_refuse(tx, execution_id, done, now=orchestrator.clock.now())
    assert orchestrator.states(execution_id)[name] is ActionState.TAKEN_OVER


def test_an_execution_that_cannot_be_taken_back_says_why_once(orchestrator, monkeypatch):
    execution_id = orchestrator.start()
    orchestrator.tick()
    orchestrator.command(execution_id, Verb.REVERSE)

    def refuse(*_: Any, **__: Any) -> None:
        raise PlanRefusedError([Violation(reason="PoolOverfull", message="compute in east lacks 5")])

    with monkeypatch.context() as patch:
        patch.setattr("services.orchestrator.reconcilers.advance_executions.take_back", refuse)
        orchestrator.run(execution_id, 3)
    refused = [one for one in commands_of(orchestrator, execution_id) if one.code is not None]
    said = "it is tried again at each tick: PoolOverfull: compute in east lacks 5"
    assert [(one.actor, one.code, one.message) for one in refused] == [("orchestrator", "CannotTakeBack", said)]
    assert orchestrator.run(execution_id) is ExecutionState.REVERSED


def test_a_fault_in_one_execution_stops_no_other(orchestrator, database, clock):
    def answer(request) -> Answer:
        if request.action.service == "bad":
            raise RuntimeError("the system of bad talks nonsense")
        return DONE

    orchestrator.world.say = answer
    orchestrator.plan_id = store_plan(database, (resize("bad", 1.0, 2.0),), clock)
    orchestrator.start()
    orchestrator.plan_id = store_plan(database, (resize("good", 1.0, 2.0),), clock)
    second = orchestrator.start()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="nonsense"):
            orchestrator.tick()
    assert orchestrator.load(second).state is ExecutionState.DONE


@pytest.mark.parametrize("end", [Verb.PAUSE, Verb.ABORT])
def test_a_shrink_that_has_not_happened_still_holds_its_room(orchestrator, database, clock, end):
    """The next plan takes it as done, and gives its room to another service."""
    orchestrator.plan_id = store_plan(database, (resize("a", 20.0, 5.0, Phase.DOWNSIZE),), clock, room=30.0)
    first = orchestrator.start()
    orchestrator.command(first, Verb.PAUSE)
    orchestrator.tick()
    orchestrator.plan_id = store_plan(database, (grow("c", 15.0, 29.0), grow("d", 0.0, 1.0)), clock, room=30.0)
    clock.sleep(60.0)
    orchestrator.command(first, end) if end is Verb.ABORT else None
    second = orchestrator.start()
    orchestrator.run(second, 5)
    assert ("c", "east") not in orchestrator.world.sizes
    if end is Verb.PAUSE:
        orchestrator.command(first, Verb.RESUME)
        orchestrator.run(second, 10)
        assert orchestrator.world.sizes == {("a", "east"): 5.0, ("c", "east"): 29.0, ("d", "east"): 1.0}


def test_an_execution_that_starts_after_the_plan_was_made_is_not_part_of_it(orchestrator, database, clock):
    orchestrator.plan_id = store_plan(database, (grow("a", 10.0, 20.0),), clock, room=25.0)
    first = orchestrator.create().plan_execution_id
    clock.sleep(60.0)
    orchestrator.plan_id = store_plan(database, (grow("b", 5.0, 15.0),), clock, room=24.0)
    clock.sleep(60.0)
    orchestrator.command(first, Verb.START)
    orchestrator.run(first, 3)
    second = orchestrator.start()
    orchestrator.run(second, 5)
    assert orchestrator.states(second) == {"upsize/b/east/hw": ActionState.WAITING}
