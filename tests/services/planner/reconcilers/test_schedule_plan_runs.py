"""A plan is due once a week at the operators' hour, and once required inputs exist."""

from datetime import timedelta

import pytest

from libs.domain.plan_run import PlanTrigger
from libs.store.planner.plan_runs import load_plan_run
from services.planner.reconcilers.schedule_plan_runs import SchedulePlanRuns
from tests.builders.planning_inputs import put_world
from tests.services.planner.conftest import FixedClock


def test_the_weekly_cycle_asks_once_there_is_something_to_plan_from(client, database, world):
    scheduled = SchedulePlanRuns(database, FixedClock(), weekday=0, hour=2)
    assert scheduled.reconcile() is None
    put_world(client, world)
    run = scheduled.reconcile()
    assert scheduled.reconcile() == run, "one is open already"
    with database.snapshot() as tx:
        assert load_plan_run(tx, run).trigger is PlanTrigger.SCHEDULE


@pytest.mark.parametrize(("weekday", "hour"), [(0, 2), (2, 12), (2, 13), (3, 0), (6, 23)])
def test_the_week_begins_when_operators_say(client, database, world, weekday, hour):
    """Check every hour of the first and third of three weeks: a plan comes at the hour, and at once if one was
    missed.
    """
    put_world(client, world)
    noon, asked = FixedClock().now(), []

    class At:
        def now(self):
            return self.at

    clock = At()
    for hours in [*range(7 * 24), *range(15 * 24, 22 * 24)]:
        clock.at = noon + timedelta(hours=hours)
        run = SchedulePlanRuns(database, clock, weekday, hour).reconcile()
        if run is not None:
            asked.append(clock.at)
            client.post(f"/v1/plan-runs/{run}/cancel")
    first, *later = asked
    assert first == noon, "nobody ever planned this week"
    begun = [at for at in later if (at.weekday(), at.hour) == (weekday, hour)]
    made_up = [at for at in later if at == noon + timedelta(days=15)]
    assert sorted(begun + made_up) == later
    assert len(later) == 3 if (weekday, hour) != (2, 12) else len(later) == 2
