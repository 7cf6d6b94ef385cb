"""Test executions on a real database, with systems that the test controls."""

from dataclasses import replace

import pytest

from libs.domain.action_outcome import Answer
from libs.domain.capacity_event import EventChange, EventStatus
from libs.domain.execution_plan import Phase
from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.plan_execution import ActionState, Command, CommandLevel, ExecutionState, RecordedCommand, Verb
from libs.executions.give_command import CommandRefused, give_or_refuse
from libs.store.executions.commands import list_commands, list_readings
from libs.store.ledger.changes import change_events
from libs.store.platform.refusals import NotFound
from libs.store.retention.of_planning import forget_plan_runs
from services.orchestrator.create_execution import CannotExecute
from tests.builders.executed_plan import DONE, Orchestrator, store_plan
from tests.builders.execution import TERMS, resize, two_products

SHOP, FRONT = "shift/shop/east/west", "upsize/shop-front/west/compute"
GATE = Gate(name="errors", time=GateTime.FRACTION, query="e", most=0.01, mode=GateMode.REVERSE, age_s_max=900.0)


def test_it_comes_to_its_end_and_the_ledger_shows_it(orchestrator):
    execution_id = orchestrator.start()
    events = orchestrator.events()
    assert {event.status for event in events.values()} == {EventStatus.APPROVED}
    assert orchestrator.run(execution_id) is ExecutionState.DONE
    assert set(orchestrator.states(execution_id).values()) == {ActionState.DONE}
    for event in orchestrator.events().values():
        assert event.status is EventStatus.SUCCEEDED
        assert event.achieved == pytest.approx(event.effect.amount)
    assert orchestrator.executed_shares() == {"upsize": pytest.approx(1.0), "downsize": pytest.approx(1.0)}
    assert orchestrator.world.moved[SHOP] == pytest.approx(0.1)


def test_the_ledger_shows_the_part_of_a_shift_that_has_happened(orchestrator):
    execution_id = orchestrator.start()
    orchestrator.run_until_moved(SHOP, 0.025)
    event = orchestrator.events()[SHOP]
    assert (event.status, event.achieved) == (EventStatus.ACTIVE, pytest.approx(0.025))
    orchestrator.command(execution_id, Verb.ABORT)
    orchestrator.run(execution_id, 3)
    event = orchestrator.events()[SHOP]
    assert (event.status, event.achieved) == (EventStatus.CANCELLED, pytest.approx(0.025))


def test_growth_comes_on_top_of_what_a_skipped_downsize_left(database, clock):
    down = resize("store", 100.0, 60.0, Phase.DOWNSIZE)
    grow = resize("store", 60.0, 65.0, Phase.GROW, waits_for=(down.action,))
    orchestrator = Orchestrator(database, clock, (down, grow))
    orchestrator.plan_id = store_plan(database, (down, grow), clock, room=1000.0)
    execution_id = orchestrator.start()
    orchestrator.command(execution_id, Verb.SKIP, down.action)
    assert orchestrator.run(execution_id, 5) is ExecutionState.DONE
    assert orchestrator.world.sizes["store", "east"] == 105.0
    assert orchestrator.events()[grow.action].achieved == 5.0


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


def cancel(orchestrator: Orchestrator, action: str) -> None:
    event = orchestrator.events()[action]
    gone = EventChange(
        capacity_event_id=event.capacity_event_id, generation=event.generation, status=EventStatus.CANCELLED
    )
    with orchestrator.database.write() as tx:
        change_events(tx, [gone], actor="otto", now=orchestrator.clock.now())


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
    orchestrator.run_until_moved(SHOP, 0.1 * TERMS.fractions[0])
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
