"""Take back what an execution did, and execute a plan again."""

from dataclasses import replace
from typing import Any

import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Action
from libs.domain.plan_execution import ActionState, ExecutionState, RecordedCommand, Verb
from libs.domain.violation import Violation
from libs.plan_check.check import PlanRefusedError
from libs.store.executions.commands import list_commands
from libs.store.platform.audit import list_entries
from services.orchestrator.create_execution import CannotExecute, create_execution
from tests.builders.executed_plan import DONE, Orchestrator, store_plan
from tests.builders.execution import TERMS, resize, two_products
from tests.builders.race import meanwhile

SHOP = "shift/shop/east/west"


def test_what_was_done_is_taken_back_by_an_execution_of_its_own(orchestrator):
    execution_id = orchestrator.start()
    orchestrator.run_until_moved(SHOP, 0.1)
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
    assert orchestrator.executed_shares() == {"upsize": 0.0, "downsize": 0.0}


def test_a_plan_does_not_move_its_traffic_twice(orchestrator):
    first = orchestrator.start()
    orchestrator.run_until_moved(SHOP, 0.1)
    orchestrator.command(first, Verb.REVERSE)
    orchestrator.run(first)
    second = orchestrator.start()  # all of it was taken back
    assert orchestrator.run(second) is ExecutionState.DONE
    with pytest.raises(CannotExecute, match=f"Plan execution {second} of placement plan .* has moved traffic"):
        orchestrator.create()
    assert orchestrator.world.moved[SHOP] == pytest.approx(0.1)


def test_two_at_once_prepare_no_two_executions_of_a_plan(orchestrator):
    def create(tx):
        now = orchestrator.clock.now()
        return create_execution(tx, orchestrator.plan_id, terms=TERMS, reason="weekly", actor="olga", now=now)

    refused, made = meanwhile(orchestrator.database, create, create)
    assert isinstance(refused, CannotExecute)
    assert f"Plan execution {made.plan_execution_id} " in str(refused)


@pytest.mark.parametrize("goes_back", [False, True])
def test_a_plan_whose_traffic_may_have_moved_is_not_executed_again(orchestrator, goes_back):
    [shift] = [one for one in two_products() if one.action == SHOP]
    orchestrator.plan_id = store_plan(orchestrator.database, (replace(shift, waits_for=()),), orchestrator.clock)
    first = orchestrator.start()
    orchestrator.run_until_moved(SHOP, 0.025)
    orchestrator.world.say = lambda request: DONE if request.fraction else Answer(outcome=Outcome.FAILED)
    if goes_back:  # but the traffic system fails
        orchestrator.command(first, Verb.PAUSE)
        orchestrator.run(first, 3)
        assert orchestrator.command(first, Verb.REVERSE, SHOP).record.code is None
        orchestrator.run(first, 20)
        assert orchestrator.states(first)[SHOP] is ActionState.FAILED
    orchestrator.command(first, Verb.ABORT)
    orchestrator.run(first, 3)
    with pytest.raises(CannotExecute, match=f"Plan execution {first} of placement plan .* has moved traffic"):
        orchestrator.create()


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
