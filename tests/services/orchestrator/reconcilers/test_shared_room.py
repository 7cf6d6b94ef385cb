"""Executions share the room of a pool, and never use it twice."""

import pytest

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.reconcile.crash import crash_points_heard
from tests.builders.executed_plan import store_plan
from tests.builders.execution import resize


@pytest.mark.parametrize("ends_first", [True, False])
def test_executions_that_share_a_pool_never_use_its_room_twice(orchestrator, database, clock, ends_first):
    """The later one fills the pool while the earlier one is paused, and what it added counts when it has ended too."""
    orchestrator.plan_id = store_plan(database, (resize("a", 10.0, 20.0),), clock, room=25.0)
    first = orchestrator.start()
    orchestrator.command(first, Verb.PAUSE)
    orchestrator.tick()
    orchestrator.plan_id = store_plan(database, (resize("b", 5.0, 15.0), resize("c", 0.0, 1.0)), clock, room=25.0)
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
    asks = resize("a", 10.0, 20.0, approval=("OwnerApproves",))
    orchestrator.plan_id = store_plan(database, (asks,), clock, room=25.0)
    first = orchestrator.start()
    orchestrator.plan_id = store_plan(database, (resize("b", 10.0, 18.0),), clock, room=25.0)
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
    waits = resize("a", 10.0, 20.0, approval=("OwnerApproves",))
    orchestrator.plan_id = store_plan(database, (waits, resize("b", 5.0, 6.0)), clock, room=30.0)
    first = orchestrator.start()
    orchestrator.run(first, 5)
    orchestrator.plan_id = store_plan(database, (resize("c", 10.0, 18.0),), clock, room=25.0)
    second = orchestrator.start()
    orchestrator.command(first, Verb.APPROVE, waits.action)
    orchestrator.run(first, 5)
    assert orchestrator.load(first).state is ExecutionState.DONE
    assert orchestrator.states(second) == {"upsize/c/east/hw": ActionState.WAITING}


@pytest.mark.parametrize("end", [Verb.PAUSE, Verb.ABORT])
def test_a_shrink_that_has_not_happened_still_holds_its_room(orchestrator, database, clock, end):
    """The next plan takes it as done, and gives its room to another service."""
    orchestrator.plan_id = store_plan(database, (resize("a", 20.0, 5.0, Phase.DOWNSIZE),), clock, room=30.0)
    first = orchestrator.start()
    orchestrator.command(first, Verb.PAUSE)
    orchestrator.tick()
    orchestrator.plan_id = store_plan(database, (resize("c", 15.0, 29.0), resize("d", 0.0, 1.0)), clock, room=30.0)
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
    orchestrator.plan_id = store_plan(database, (resize("a", 10.0, 20.0),), clock, room=25.0)
    first = orchestrator.create().plan_execution_id
    clock.sleep(60.0)
    orchestrator.plan_id = store_plan(database, (resize("b", 5.0, 15.0),), clock, room=24.0)
    clock.sleep(60.0)
    orchestrator.command(first, Verb.START)
    orchestrator.run(first, 3)
    second = orchestrator.start()
    orchestrator.run(second, 5)
    assert orchestrator.states(second) == {"upsize/b/east/hw": ActionState.WAITING}
