"""Check the execution of three worlds' plans: the actions, their dependencies, and their earliest starts."""

from collections.abc import Iterator

import pytest

from libs.domain.execution_plan import Action, ExecutionPlan
from libs.flux.execution.plan import plan_execution
from tests.fixtures.golden import Golden
from tests.golden.dag_worlds import World, planned_world


def traffic_moves() -> World:
    """Traffic of shop moves from east to west. Its services grow in west before, and shrink in east after."""
    return planned_world(
        traffic={"shop": [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]], "feed": [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]},
        services={"shop-front": {"shop": 100}, "feed-front": {"feed": 80}, "store": {"shop": 50, "feed": 100}},
    )


def growth_waits() -> World:
    """store may grow in east only after all downsizes of its pool there. cache is in another pool."""
    return planned_world(
        traffic={"shop": [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]},
        services={"shop-front": {"shop": 100}, "store": {"shop": 200}, "cache": {"shop": 10}},
        kinds={"cache": "flash"},
        growth={("store", "east"): 15, ("store", "north"): 5, ("cache", "west"): 1},
    )


def people_decide() -> World:
    """Two products move. Some actions wait for a person, and one service waits 100 h for its hardware."""
    return planned_world(
        traffic={"shop": [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]], "feed": [[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]]},
        services={"shop-front": {"shop": 100}, "feed-front": {"feed": 80}, "store": {"shop": 50, "feed": 100}},
        low_confidence=["feed-front"],
        automated=["shop-front", "feed-front"],
        requires_approval=["shop-front"],
        lead_time_h={"shop-front": 100.0},
    )


@pytest.mark.parametrize("world", [traffic_moves, growth_waits, people_decide])
def test_a_plan_is_carried_out_in_the_same_way(world, golden: Golden) -> None:
    text = "\n".join(dag_text(plan_execution(*world())))
    golden.check(f"execution_dags/{world.__name__}.txt", f"{world.__doc__}\n\n{text}")


def dag_text(execution: ExecutionPlan) -> Iterator[str]:
    """Return the actions in the order of their start, each with its dependencies below it."""
    yield f"step {execution.step}, done after {execution.estimate_h:g} h"
    for action in sorted(execution.actions, key=lambda a: a.start_h):
        end_h = action.start_h + action.estimate_h
        approval = f", approval: {', '.join(action.approval)}" if action.approval else ""
        yield f"\n{action.start_h:g} h to {end_h:g} h  {action.action}{approval}"
        if change := _change(action):
            yield f"  {change}"
        yield from (f"  after {before}" for before in action.waits_for)
    yield f"\ncritical path: {' > '.join(execution.critical_path)}"


def _change(action: Action) -> str:
    if action.to_region is not None:
        return f"{action.after:.0%} of {action.product} from {action.region} to {action.to_region}"
    return f"{action.before:.4g} -> {action.after:.4g}" if action.before != action.after else ""
