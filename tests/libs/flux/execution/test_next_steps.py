from dataclasses import replace

import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.flux.execution.graph import execution_graph
from tests.builders.execution import DONE, TERMS, Execution, pools_of, resize, two_products

SHOP, FEED, DOWN = "shift/shop/east/west", "shift/feed/north/east", "downsize/shop-front/east/compute"
ERRORS = Gate(name="errors", time=GateTime.FRACTION, query="errors{product}", most=0.01, unknown_s_max=1800.0)


@pytest.fixture
def run() -> Execution:
    execution = Execution(two_products())
    execution.command(Verb.START)
    return execution


def gated(**changes) -> Execution:
    execution = Execution(two_products(), replace(TERMS, gates=(replace(ERRORS, **changes),)))
    execution.command(Verb.START)
    return execution


def until(execution: Execution, condition, ticks: int = 200) -> None:
    for _ in range(ticks):
        if condition():
            return
        execution.tick()
    raise AssertionError(f"it never came to that: {execution.states()}")


def test_it_comes_to_its_end_in_order_and_by_fractions(run):
    assert run.run() is ExecutionState.DONE
    assert set(run.states().values()) == {ActionState.DONE}
    assert [asked for name, _, asked in run.asked if name == SHOP] == [0.1, 0.25, 0.5, 1.0]
    order = [name for name, *_ in run.asked]
    by_id = {a.action: a for a in run.graph.actions}
    for name, a in by_id.items():
        for before in a.waits_for:
            if before in order and name in order:
                assert order.index(before) < order.index(name)


def test_each_request_has_a_key_of_its_own(run):
    run.say = lambda action, row: DONE if row.tries == 2 else Answer(outcome=Outcome.FAILED, message="no")
    run.run(800)
    assert run.state is ExecutionState.DONE
    keys = [(name, attempt) for name, attempt, _ in run.asked]
    assert len(set(keys)) == len(keys)


def test_fractions_bake(run):
    until(run, lambda: run.of(SHOP).state is ActionState.BAKING)
    assert run.of(SHOP).reached == 0.1
    run.tick(TERMS.bake_s - 1)
    assert run.of(SHOP).reached == 0.1
    run.tick(1)
    assert run.of(SHOP).reached == 0.25


def test_downsizes_wait_for_a_bake_time_after_the_last_shift(run):
    until(run, lambda: run.of(SHOP).state is ActionState.DONE)
    since = run.of(SHOP).since_s
    until(run, lambda: run.of("downsize/shop-front/east/compute").state is ActionState.DONE)
    assert run.now_s >= since + TERMS.downsize_bake_s


def test_a_failed_action_stops_only_what_needs_it(run):
    run.say = lambda action, row: (
        Answer(outcome=Outcome.FAILED, message="full") if action.action == "upsize/shop-front/west/compute" else DONE
    )
    run.run()
    states = run.states()
    assert states["upsize/shop-front/west/compute"] is ActionState.FAILED
    assert run.of("upsize/shop-front/west/compute").note == "Failed: full"
    assert (states[SHOP], states["downsize/shop-front/east/compute"]) == (ActionState.WAITING, ActionState.WAITING)
    assert (states[FEED], states["downsize/feed-front/north/compute"]) == (ActionState.DONE, ActionState.DONE)
    assert run.state is ExecutionState.RUNNING
    run.say = lambda action, row: DONE
    assert run.command(Verb.RETRY, "upsize/shop-front/west/compute").refusal is None
    run.run()
    assert run.state is ExecutionState.DONE


def test_no_answer_becomes_a_new_request_and_then_a_failure(run):
    run.say = lambda action, row: Answer(outcome=Outcome.UNKNOWN, message="HTTP 503")
    run.tick(1)
    run.tick(TERMS.action_s_max + 1)
    assert run.of("upsize/store/west/compute").tries == 2
    run.tick(TERMS.retry_s + TERMS.action_s_max + 1)
    run.tick(TERMS.action_s_max + 1)
    assert run.of("upsize/store/west/compute").note == "Failed: no result in 3600 s: HTTP 503"


def test_pausing_ends_what_runs_and_begins_nothing(run):
    run.say = lambda action, row: Answer(outcome=Outcome.RUNNING)
    run.tick()
    run.command(Verb.PAUSE)
    assert run.state is ExecutionState.PAUSING
    run.tick()
    assert run.state is ExecutionState.PAUSING
    run.say = lambda action, row: DONE
    run.tick()
    run.tick()
    assert run.state is ExecutionState.PAUSED
    asked = len(run.asked)
    run.run(20)
    assert len(run.asked) == asked
    run.command(Verb.RESUME)
    assert run.run() is ExecutionState.DONE


def test_a_paused_phase_waits_and_the_others_go_on(run):
    run.command(Verb.PAUSE, "shift")
    run.run()
    assert run.states()[SHOP] is ActionState.WAITING
    assert run.states()["upsize/store/west/compute"] is ActionState.DONE
    run.command(Verb.RESUME, "shift")
    assert run.run() is ExecutionState.DONE


def test_approvals_are_waited_for():
    execution = Execution(two_products(requires_approval=["shop-front"]))
    execution.command(Verb.START)
    execution.run()
    assert execution.states()["upsize/shop-front/west/compute"] is ActionState.AWAITING_APPROVAL
    assert execution.states()[FEED] is ActionState.DONE
    execution.command(Verb.APPROVE, "upsize/shop-front/west/compute")
    execution.command(Verb.REJECT, "downsize/shop-front/east/compute")
    assert execution.run() is ExecutionState.DONE
    assert execution.states()["downsize/shop-front/east/compute"] is ActionState.SKIPPED


def test_what_needs_a_skipped_action_is_skipped(run):
    run.command(Verb.SKIP, "upsize/shop-front/west/compute")
    assert run.run() is ExecutionState.DONE
    states = run.states()
    assert (states[SHOP], states["downsize/shop-front/east/compute"]) == (ActionState.SKIPPED, ActionState.SKIPPED)
    assert states["downsize/feed-front/north/compute"] is ActionState.DONE


def test_growth_goes_on_after_a_skipped_downsize_only_where_there_is_room():
    actions = two_products()
    grow = next(a for a in actions if a.phase is Phase.GROW)
    used, room = pools_of(actions)
    for spare, expected in ((0.0, ActionState.WAITING), (grow.after - grow.before, ActionState.DONE)):
        pool = (grow.region, grow.hardware_type)
        graph = execution_graph(actions, used, room | {pool: room[pool] + spare})
        execution = Execution(actions, graph=graph)
        execution.command(Verb.START)
        for a in actions:
            if a.phase is Phase.DOWNSIZE and a.region == grow.region:
                execution.command(Verb.SKIP, a.action)
        execution.run()
        assert execution.states()[grow.action] is expected


def test_a_smaller_upsize_bounds_the_shift_that_needs_it(run):
    upsize = next(a for a in run.graph.actions if a.action == "upsize/shop-front/west/compute")
    run.command(Verb.EDIT, upsize.action, size=upsize.before + 0.4 * (upsize.after - upsize.before))
    run.run()
    assert run.of(SHOP).reached == pytest.approx(0.4)
    assert (run.of(SHOP).state, run.of(SHOP).note) == (ActionState.HELD, "CapacityNotThere")
    assert run.states()["downsize/shop-front/east/compute"] is ActionState.WAITING


def test_a_bad_gate_holds_and_a_good_one_lets_go():
    execution = gated()
    execution.read = lambda action, gate: 0.02 if action.product == "shop" else 0.0
    execution.run()
    row = execution.of(SHOP)
    assert (row.state, row.reached, row.note) == (ActionState.HELD, 0.1, "GateBad: errors")
    assert execution.states()[FEED] is ActionState.DONE
    execution.read = lambda action, gate: 0.0
    assert execution.run() is ExecutionState.DONE


def test_a_bad_gate_reverses_what_automation_did():
    execution = gated(mode=GateMode.REVERSE)
    execution.read = lambda action, gate: 0.02 if execution.of(SHOP).reached >= 0.25 else 0.0
    until(execution, lambda: execution.of(SHOP).state is ActionState.REVERSED)
    assert (execution.of(SHOP).reached, execution.of(SHOP).note) == (0.0, "GateBad: errors")
    assert [asked for name, _, asked in execution.asked if name == SHOP] == [0.1, 0.25, 0.0]
    execution.run()
    assert execution.states()["downsize/shop-front/east/compute"] is ActionState.WAITING


def test_automation_does_not_take_back_what_a_person_had_a_hand_in():
    execution = gated(mode=GateMode.REVERSE)
    execution.read = lambda action, gate: None
    until(execution, lambda: execution.of(SHOP).state is ActionState.HELD)
    execution.command(Verb.OVERRIDE, SHOP)
    execution.read = lambda action, gate: 0.02
    execution.run()
    assert (execution.of(SHOP).state, execution.of(SHOP).reached) == (ActionState.HELD, 0.25)


def test_silence_is_never_good_and_reverses_only_where_that_was_agreed():
    for then, expected in ((GateMode.HOLD, ActionState.HELD), (GateMode.REVERSE, ActionState.REVERSED)):
        execution = gated(then=then)
        execution.read = lambda action, gate: None
        execution.run(10 + int(TERMS.bake_s / 60))
        assert (execution.of(SHOP).state, execution.of(SHOP).note) == (ActionState.HELD, "GateUnknown: errors")
        execution.run(int(ERRORS.unknown_s_max / 60) + 5)
        assert execution.of(SHOP).state is expected


@pytest.mark.parametrize(("time", "name"), [(GateTime.FRACTION, SHOP), (GateTime.DOWNSIZE, DOWN)])
def test_a_held_action_says_why_it_is_held_now(time, name):
    execution = gated(time=time)
    execution.read = lambda action, gate: None
    until(execution, lambda: execution.of(name).state is ActionState.HELD)
    assert execution.of(name).note == "GateUnknown: errors"
    since_s = execution.of(name).since_s
    for value, note in ((0.02, "GateBad: errors"), (None, "GateUnknown: errors")):
        execution.read = lambda action, gate, value=value: value
        execution.run(int(ERRORS.age_s_max / 60) + 2)
        assert (execution.of(name).note, execution.of(name).since_s) == (note, since_s)


def test_an_override_holds_for_one_fraction():
    execution = gated()
    execution.read = lambda action, gate: 0.02
    until(execution, lambda: execution.of(SHOP).state is ActionState.HELD)
    execution.command(Verb.OVERRIDE, SHOP)
    execution.run()
    assert (execution.of(SHOP).state, execution.of(SHOP).reached) == (ActionState.HELD, 0.25)


def test_a_gate_that_only_observes_is_read_and_stops_nothing():
    execution = gated(mode=GateMode.OBSERVE)
    execution.read = lambda action, gate: 5.0
    assert execution.run() is ExecutionState.DONE
    assert execution.readings


def test_a_failed_load_test_keeps_the_capacity():
    gate = Gate(name="load test", time=GateTime.DOWNSIZE, query="", source="load_test", least=1.0)
    execution = Execution(two_products(), replace(TERMS, gates=(gate,)))
    execution.command(Verb.START)
    execution.read = lambda action, name: 0.0 if action.service == "store" else 1.0
    execution.run()
    states = execution.states()
    assert states["downsize/shop-front/east/compute"] is ActionState.DONE
    assert states["downsize/store/north/compute"] is ActionState.HELD
    execution.command(Verb.SKIP, "downsize/store/north/compute")
    grow = next(a for a in execution.graph.actions if a.phase is Phase.GROW)
    execution.command(Verb.SKIP, grow.action)
    assert execution.run() is ExecutionState.DONE


def test_a_person_does_it_by_hand(run):
    run.command(Verb.TAKE_OVER, "upsize/store/west/compute")
    run.run()
    assert run.states()[SHOP] is ActionState.WAITING
    assert "upsize/store/west/compute" not in {name for name, *_ in run.asked}
    run.command(Verb.COMPLETE, "upsize/store/west/compute")
    assert run.run() is ExecutionState.DONE


@pytest.mark.parametrize("end", [Verb.ABORT, Verb.REVERSE])
def test_it_ends_when_what_runs_has_ended_even_without_an_answer(run, end):
    run.say = lambda action, row: Answer(outcome=Outcome.UNKNOWN)
    run.tick()
    run.command(end)
    assert run.state in (ExecutionState.ABORTING, ExecutionState.REVERSING)
    run.run(20, TERMS.action_s_max)
    assert run.state is ExecutionState.ABORTED or run.decisions.reverses


def test_no_more_actions_run_at_a_time_than_agreed():
    execution = Execution(two_products(), replace(TERMS, in_flight_max=1))
    execution.command(Verb.START)
    execution.say = lambda action, row: Answer(outcome=Outcome.RUNNING)
    for _ in range(3):
        assert len(execution.tick().ask) == 1
    execution.say = lambda action, row: DONE
    assert execution.run() is ExecutionState.DONE


def test_upsizes_begin_before_downsizes_and_one_without_room_holds_up_no_other():
    down = resize("a", 20.0, 10.0, Phase.DOWNSIZE)
    large, small = resize("b", 10.0, 60.0), resize("c", 10.0, 15.0)
    actions, pool = (down, large, small), ("east", "hw")
    graph = execution_graph(actions, {pool: 40.0}, {pool: 50.0})
    execution = Execution(actions, replace(TERMS, in_flight_max=1), graph)
    execution.command(Verb.START)
    execution.run(20)
    assert [name for name, _, _ in execution.asked] == [small.action, down.action]


def test_a_shift_whose_way_back_failed_is_asked_for_again(run):
    """The last fraction was asked for, and never answered. So it is not done because a person retries it."""
    answers = {1.0: Answer(outcome=Outcome.RUNNING), 0.0: Answer(outcome=Outcome.FAILED)}
    run.say = lambda action, row: answers.get(row.asked, DONE) if action.action == SHOP else DONE
    until(run, lambda: run.of(SHOP).asked == 1.0)
    run.command(Verb.REVERSE, SHOP)
    until(run, lambda: run.of(SHOP).state is ActionState.FAILED)
    run.command(Verb.RETRY, SHOP)
    until(run, lambda: run.of(SHOP).state is ActionState.RUNNING)
    assert run.of(SHOP).asked == 1.0
    answers.pop(1.0)
    assert run.run() is ExecutionState.DONE
