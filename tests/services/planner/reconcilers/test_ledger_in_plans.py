"""Plans take the events of the capacity ledger as given, and keep them in their replay bundle."""

from datetime import timedelta

import numpy as np
import pytest

from libs.domain.capacity_event import Writer
from libs.domain.plan_run import PlanRunStatus
from libs.store.ledger.proposals import propose_events
from services.cli.flux.offline import make_plan
from tests.builders.ledger import resize, shift
from tests.builders.planning_inputs import put_world
from tests.services.planner.conftest import DAY_ZERO, FixedClock, look

WINDOW_END = DAY_ZERO + timedelta(2)
STORE = {"service": "store", "region": "east"}


def planned(client, planner, ask, world):
    """Make a plan; return its run and the plan made again from its bundle."""
    run = ask()
    assert planner().reconcile() is PlanRunStatus.DONE
    found = look(client, run)
    return found, make_plan(type(world)(found["bundle"]))


def propose(database, *proposals):
    with database.write() as tx:
        propose_events(tx, proposals, actor="olga", now=FixedClock().now())


def test_an_event_counts_from_its_step_on(client, planner, ask, world, database):
    put_world(client, world)
    _, without = planned(client, planner, ask, world)
    propose(
        database,
        resize(1.0, **STORE, starts_at=WINDOW_END + timedelta(3)),
        resize(2.0, **STORE, starts_at=WINDOW_END + timedelta(8)),
        resize(4.0, **STORE, starts_at=WINDOW_END + timedelta(14)),
        resize(8.0, **STORE, starts_at=WINDOW_END, writer=Writer.FLUX, placement_plan_id=1),
        resize(1.0, service="elsewhere", starts_at=WINDOW_END),
    )
    run, found = planned(client, planner, ask, world)
    at = found.words.services.tolist().index("store"), found.words.regions.tolist().index("east")
    assert (found.inputs.ledger - without.inputs.ledger)[:, *at] == pytest.approx([1.0, 3.0])
    assert np.count_nonzero(found.inputs.ledger - without.inputs.ledger) == 2
    assert found.problem.kappa[at] - without.problem.kappa[at] == pytest.approx(1.0, rel=1e-6)
    assert run["report"]["unknown"]["ledger"] == 1
    starts = [step["starts_at"] for step in run["report"]["plan"]["steps"]]
    assert starts == ["2026-11-04T00:00:00+00:00", "2026-11-11T00:00:00+00:00"]


def test_a_shift_is_where_the_traffic_starts(client, planner, ask, world, database):
    put_world(client, world)
    _, without = planned(client, planner, ask, world)
    propose(database, shift(0.05, starts_at=WINDOW_END), shift(0.1, starts_at=WINDOW_END + timedelta(30)))
    _, found = planned(client, planner, ask, world)
    shop, regions = found.words.products.tolist().index("shop"), found.words.regions.tolist()
    moved = (found.problem.xi - without.problem.xi)[shop]
    assert moved[regions.index("east")] == pytest.approx(-0.05, abs=1e-6)
    assert moved[regions.index("west")] == pytest.approx(0.05, abs=1e-6)
