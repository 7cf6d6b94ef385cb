import pytest

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.flux.execution.graph import execution_graph
from libs.flux.execution.plan import scheduled
from libs.flux.execution.reverse import reverse_actions
from libs.plan_check.execution import check_execution
from tests.builders.execution import DONE, Execution, pools_of, two_products


def stopped_after(ticks: int) -> Execution:
    execution = Execution(two_products())
    execution.command(Verb.START)
    for _ in range(ticks):
        execution.tick()
    execution.command(Verb.REVERSE)
    for _ in range(10):
        if execution.tick().reverses:
            return execution
    raise AssertionError("what runs does not end")


def sizes(*executions: Execution) -> dict:
    """Return the size of each service and the share of each product by place, after the executions."""
    found: dict = {}
    for execution in executions:
        for i, a in enumerate(execution.graph.actions):
            row = execution.progress.row(i)
            if a.service is not None:
                place = (a.service, a.region, a.hardware_type)
                found.setdefault(place, a.before)
                found[place] = row.size if row.state is ActionState.DONE else found[place]
            elif a.phase is Phase.SHIFT:
                moved = row.reached * a.after
                found[a.product, a.region] = found.get((a.product, a.region), 0.0) - moved
                found[a.product, a.to_region] = found.get((a.product, a.to_region), 0.0) + moved
    return found


@pytest.mark.parametrize("ticks", [0, 1, 2, 14, 30, 45, 60, 61, 62, 63, 64])
def test_the_reverse_leads_back_from_anywhere_in_the_right_order(ticks):
    execution = stopped_after(ticks)
    actions = reverse_actions(execution.graph, execution.progress)
    used, room = pools_of(execution.graph.actions)
    after = dict.fromkeys(used, 0.0)
    for pool, amount in zip(used, execution.used(), strict=True):
        after[pool] = amount
    assert check_execution(scheduled(list(actions), 0), after, room) == []
    back = Execution(actions, graph=execution_graph(actions, after, room))
    back.command(Verb.START)
    assert back.run() is ExecutionState.DONE
    start = sizes(Execution(execution.graph.actions, graph=execution.graph))
    assert sizes(execution, back) == pytest.approx(start)
    order = [name for name, *_ in back.asked]
    for a in actions:
        if a.phase is Phase.SHIFT:
            for b in actions:
                if b.phase is Phase.UPSIZE and b.region == a.to_region:
                    assert order.index(b.action) < order.index(a.action)


def test_a_shift_without_an_answer_is_taken_back_as_far_as_it_may_have_come():
    execution = Execution(two_products())
    execution.command(Verb.START)
    execution.say = lambda action, row: (
        DONE if action.phase is not Phase.SHIFT or row.asked < 0.5 else Answer(outcome=Outcome.FAILED)
    )
    execution.run(100)
    execution.command(Verb.REVERSE)
    execution.tick()
    found = {a.action: a for a in reverse_actions(execution.graph, execution.progress)}
    shift = found["shift/shop/east/west/back"]
    assert (shift.region, shift.to_region, shift.after) == ("west", "east", pytest.approx(0.05))
