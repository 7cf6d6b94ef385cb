"""At no moment has a region less capacity than the traffic of the moment needs, while traffic grows and falls."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.plan_execution import ExecutionState
from libs.flux.execution.plan import SMALL
from libs.flux.planning import plan_world
from tests.builders.growing_traffic import GrowingTraffic
from tests.builders.world import random_world

CHANGES = {
    "none": [0.0],
    "rise": [0.1, 0.5],
    "fall": [-0.2, -0.7],
    "end": [-1.0, 0.0],
    "mixed": [-1.0, -0.5, 0.0, 0.3, 1.0],
}


def growing_world(seed, changes, *, steps=1, **more):
    """A world with room to move things, in which one region gets little supply."""
    words, models, inputs = random_world(seed, steps=steps, supply=2.0, **more)
    rng = np.random.default_rng(seed)
    supply = inputs.supply.copy()
    supply[:, :, rng.integers(len(words.regions))] *= 0.55
    growth = rng.choice(changes, (steps, len(words.products)))
    return words, models, replace(inputs, supply=supply, traffic_growth=growth)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("seed", range(6))
def test_capacity_covers_the_traffic_of_every_moment(seed, changes):
    kind = random_world(seed)[0].service_type
    several = [(0, 1 - kind[0], 0.5), (1, 1 - kind[1], 2.0)] if seed % 2 else []
    planned = plan_world(*growing_world(seed, CHANGES[changes], several=several))
    one = GrowingTraffic(planned, np.random.default_rng(seed))
    assert one.to_the_end() is ExecutionState.DONE
    assert one.worst <= 3 * SMALL


@pytest.mark.parametrize("seed", range(4))
def test_capacity_covers_the_traffic_of_several_weeks(seed):
    rng = np.random.default_rng(seed)
    world = growing_world(seed, CHANGES["mixed"][1:], steps=4)
    while len(world[2].step):
        one = GrowingTraffic(plan_world(*world), rng)
        assert one.to_the_end() is ExecutionState.DONE
        assert one.worst <= 3 * SMALL
        world = one.next_week()


@pytest.mark.parametrize("seed", range(8))
def test_no_command_of_people_takes_capacity_from_the_traffic_of_today(seed):
    words, models, inputs = growing_world(seed, CHANGES["mixed"])
    asks = replace(inputs.controls, requires_approval=np.arange(len(words.services)) % 2 == 0)
    one = GrowingTraffic(plan_world(words, models, replace(inputs, controls=asks)), np.random.default_rng(seed))
    one.under_people(300)
    assert one.worst <= 3 * SMALL
