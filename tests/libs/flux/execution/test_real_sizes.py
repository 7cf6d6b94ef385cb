"""Test several resizes of one place: each goes on from what the place has after the commands of people."""

from dataclasses import replace

import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.flux.execution.freezes import frozen_actions
from libs.flux.execution.graph import execution_graph
from libs.flux.execution.plan import scheduled
from libs.flux.execution.real_sizes import real_sizes
from libs.flux.execution.reverse import reverse_actions
from libs.flux.execution.waits import Waits
from tests.builders.execution import TERMS, Execution, pools_of, resize

UP = resize("store", 10, 15)
TOP = resize("store", 15, 17, Phase.GROW, waits_for=(UP.action,))
DOWN = resize("store", 100, 60, Phase.DOWNSIZE)
GROW = resize("store", 60, 65, Phase.GROW, waits_for=(DOWN.action,))


def begun(*actions):
    ordered = scheduled(list(actions), 1).actions
    run = Execution(ordered, graph=with_room(ordered))
    run.command(Verb.START)
    return run


def with_room(actions):
    used, room = pools_of(actions)
    return execution_graph(actions, used, {pool: amount + 100 for pool, amount in room.items()})


def leads_to(run, action):
    position = [a.action for a in run.graph.actions].index(action.action)
    before, after = real_sizes(run.graph, run.progress)
    return float(before[position]), float(after[position])


def test_growth_waits_for_the_upsize_of_its_place():
    run = begun(UP, TOP)
    run.say = lambda action, row: Answer(outcome=Outcome.RUNNING)
    run.tick()
    assert run.states() == {UP.action: ActionState.RUNNING, TOP.action: ActionState.WAITING}


def test_as_planned_sizes_are_those_of_the_plan():
    for actions in ((UP, TOP), (DOWN, GROW)):
        run = begun(*actions)
        assert run.run() is ExecutionState.DONE
        assert leads_to(run, actions[1]) == (actions[1].before, actions[1].after)


@pytest.mark.parametrize(("size", "has"), [(None, 100.0), (80.0, 80.0)])
def test_growth_never_takes_away_what_a_downsize_left(size, has):
    run = begun(DOWN, GROW)
    run.command(Verb.EDIT if size else Verb.SKIP, DOWN.action, size)
    assert run.run() is ExecutionState.DONE
    assert run.of(GROW.action).state is ActionState.DONE
    assert leads_to(run, GROW) == (has, has + 5)
    back = {a.action: a for a in reverse_actions(run.graph, run.progress)}
    assert (back[GROW.action + "/back"].before, back[GROW.action + "/back"].after) == (has + 5, has)


@pytest.mark.parametrize(("size", "has"), [(None, 10.0), (12.0, 12.0), (20.0, 20.0)])
def test_growth_does_not_give_what_an_upsize_left_out(size, has):
    run = begun(UP, TOP)
    run.command(Verb.EDIT if size else Verb.SKIP, UP.action, size)
    assert run.run() is ExecutionState.DONE
    assert run.of(TOP.action).state is ActionState.DONE
    assert leads_to(run, TOP) == (has, has + 2)


def test_an_upsize_that_may_have_happened_counts():
    run = begun(UP, TOP)
    run.say = lambda action, row: Answer(outcome=Outcome.FAILED)
    run.run(20, TERMS.action_s_max)
    run.command(Verb.SKIP, UP.action)
    assert leads_to(run, TOP) == (15, 17)


def test_a_downsize_does_not_take_what_the_upsize_before_it_left_out():
    down = resize("store", 15, 10, Phase.DOWNSIZE, waits_for=(UP.action,))
    for size, before, after in ((13.0, 13, 10), (20.0, 20, 15)):
        run = begun(UP, down)
        run.command(Verb.EDIT, UP.action, size)
        run.run()
        assert leads_to(run, down) == (before, after)


def test_a_downsize_gives_back_as_much_as_the_new_type_has_taken_over():
    new = replace(resize("store", 0, 40), action="upsize/store/east/new", hardware_type="new")
    run = begun(new, replace(DOWN, waits_for=(new.action,)))
    run.command(Verb.EDIT, new.action, 10.0)
    assert run.run() is ExecutionState.DONE
    assert leads_to(run, DOWN) == (100, 90)
    run = begun(new, replace(DOWN, waits_for=(new.action,)))
    run.command(Verb.SKIP, new.action)
    assert run.run() is ExecutionState.DONE
    assert run.of(DOWN.action).state is ActionState.SKIPPED


def test_growth_that_stays_is_not_taken_back_with_the_upsize_below_it():
    run = begun(UP, TOP)
    run.run()
    actions = reverse_actions(run.graph, run.progress)
    assert [a.action for a in actions] == [TOP.action + "/back", UP.action + "/back"]
    back = begun(*actions)
    back.command(Verb.SKIP, actions[0].action)
    assert back.run() is ExecutionState.DONE
    assert leads_to(back, actions[1]) == (17, 12)


def test_an_upsize_of_an_older_plan_does_not_follow_the_growth_that_is_listed_before_it():
    run = begun(UP, replace(TOP, waits_for=()))
    assert [a.phase for a in run.graph.actions] == [Phase.GROW, Phase.UPSIZE]
    assert leads_to(run, UP) == (10, 15)


def test_places_are_apart():
    run = begun(DOWN, replace(GROW, service="other", action="grow/other"))
    run.command(Verb.SKIP, DOWN.action)
    assert leads_to(run, replace(GROW, action="grow/other")) == (60, 65)


def test_growth_does_not_say_that_it_waits_for_what_was_skipped():
    actions = scheduled([UP, TOP], 1).actions
    used, room = pools_of(actions)
    run = Execution(actions, graph=execution_graph(actions, used, dict.fromkeys(room, 10.0)))
    run.command(Verb.START)
    run.command(Verb.SKIP, UP.action)
    run.tick()
    frozen = frozen_actions(run.graph, run.progress, run.calendar, run.now_s)
    waits = Waits(run.graph, run.state, run.progress, run.terms, run.now_s, frozen)
    assert waits.of(actions.index(next(a for a in actions if a.phase is Phase.GROW))) == ("room",)
