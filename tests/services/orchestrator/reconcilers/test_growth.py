"""Workers die in the middle of an execution, while traffic grows and falls: capacity is there all the same."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import ExecutionState
from libs.flux.execution.plan import SMALL
from libs.flux.planning import plan_world
from libs.reconcile.crash import crash_points_heard
from tests.builders.executed_plan import Orchestrator, store_plan
from tests.builders.world import random_world


class Killed(BaseException):
    """No handler catches it, as none catches a kill."""


def growing(seed):
    words, models, inputs = random_world(seed, services=3, products=2, regions=3, steps=1, types=1, supply=2.5)
    supply = inputs.supply * [0.45, 1, 1]
    return words, models, replace(inputs, supply=supply, traffic_growth=np.array([[0.4, -0.6]]))


@pytest.mark.parametrize("seed", [2, 5])
def test_capacity_covers_traffic_though_workers_die(database, clock, seed):
    words, models, inputs = growing(seed)
    planned = plan_world(words, models, inputs)
    actions, rng = planned.execution.actions, np.random.default_rng(seed)
    assert {Phase.UPSIZE, Phase.SHIFT, Phase.DOWNSIZE} <= {a.phase for a in actions}
    orchestrator = Orchestrator(database, clock, actions)
    orchestrator.plan_id = store_plan(database, actions, clock, room=1e6)
    execution_id, world = orchestrator.start(), orchestrator.world
    at = {str(name): r for r, name in enumerate(words.regions)}
    growth, killed = 1.0 + inputs.traffic_growth[0], 0
    today = models.phi() @ models.presence
    short = np.minimum(models.baseline - today, 0.0)  # what a region has less than its model says may stay

    def die(point: str) -> None:
        if rng.random() < 0.15:
            raise Killed(point)

    for _ in range(300):
        try:
            with crash_points_heard(die):
                orchestrator.tick(300.0)
        except Killed:
            killed += 1
        capacity, share = models.baseline.copy(), models.presence.copy()
        for s, service in enumerate(words.services):
            for region, r in at.items():
                capacity[s, r] = world.sizes.get((str(service), region), capacity[s, r])
        for a in actions:
            if a.phase is Phase.SHIFT:
                p = words.products.tolist().index(a.product)
                share[p, at[a.region]] -= world.moved.get(a.action, 0.0)
                share[p, at[a.to_region]] += world.moved.get(a.action, 0.0)
        ended = orchestrator.load(execution_id).state is ExecutionState.DONE
        for level in ([1.0, 1.0], [1.0, growth[1]], *([growth] if ended else [])):
            need = models.phi() @ (share * np.array(level)[:, None]) + short
            assert ((need - capacity) / models.capacity[:, None]).max() <= 3 * SMALL
        if ended:
            break
    assert ended
    assert killed > 3
