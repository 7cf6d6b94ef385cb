"""When actions begin and end, and the lanes that show it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import changed, initial_progress
from libs.domain.plan_execution import ActionState, Terms, Verb
from libs.flux.execution.forecast import forecast
from libs.flux.execution.graph import execution_graph
from libs.flux.execution.lanes import INTERVALS_MAX, LaneKind, lanes_of
from tests.builders.execution import Execution, two_products

HOUR_S = 3600.0


def unknown(execution: Execution) -> tuple[np.ndarray, np.ndarray]:
    n = len(execution.graph.actions)
    return np.full(n, np.nan), np.full(n, np.nan)


def foretold(execution: Execution, began_s=None, ended_s=None):
    none = unknown(execution)
    times = none[0] if began_s is None else began_s, none[1] if ended_s is None else ended_s
    return forecast(execution.graph, execution.progress, execution.terms, *times, execution.now_s)


def test_every_action_comes_after_those_that_it_waits_for():
    execution = Execution(two_products())
    execution.command(Verb.START)
    for _ in range(8):
        found = foretold(execution)
        row = {a.action: i for i, a in enumerate(execution.graph.actions)}
        for i, action in enumerate(execution.graph.actions):
            if found.begun[i]:
                continue
            latest = max((found.ends_s[row[b]] for b in action.waits_for), default=execution.now_s)
            bake_s = execution.terms.downsize_bake_s if action.phase is Phase.DOWNSIZE else 0.0
            assert found.begins_s[i] == max(execution.now_s, latest + bake_s if action.waits_for else 0.0), (
                action.action
            )
            assert found.ends_s[i] == found.begins_s[i] + action.estimate_h * HOUR_S
        execution.tick(900.0)


def test_a_downsize_bakes_after_shifts_alone():
    new = Action(action="up", phase=Phase.UPSIZE, service="a", region="e", hardware_type="new", after=5.0, estimate_h=2)
    old = replace(new, action="down", phase=Phase.DOWNSIZE, hardware_type="old", before=5.0, after=0.0)
    execution = Execution((new, replace(old, waits_for=("up",))))
    execution.command(Verb.START)
    assert foretold(execution).begins_s[1] == execution.now_s + 2 * HOUR_S


def test_the_critical_path_leads_to_the_last_action():
    execution = Execution(two_products())
    found = foretold(execution)
    path = [execution.graph.actions[i] for i in found.critical]
    assert path[0].waits_for == ()
    assert all(before.action in after.waits_for for before, after in pairwise(path))
    assert found.ends_s[found.critical[-1]] == found.ends_s.max()
    execution.command(Verb.START)
    execution.run(ticks=120, seconds=600.0)
    over = foretold(execution)
    assert over.ended.all()
    assert over.ends_s[over.critical[-1]] == over.ends_s.max()


def test_what_happened_counts_more_than_the_plan():
    execution = Execution(two_products())
    execution.command(Verb.START)
    execution.tick()
    began_s, ended_s = unknown(execution)
    done = int(np.flatnonzero(execution.progress.is_in(ActionState.DONE))[0])
    began_s[done], ended_s[done] = 10.0, 20.0
    found = foretold(execution, began_s, ended_s)
    assert (found.begins_s[done], found.ends_s[done]) == (10.0, 20.0)


def test_an_action_that_is_late_is_expected_to_end_now():
    execution = Execution(two_products())
    at = execution.progress.row(0)
    execution.progress = changed(execution.progress, (replace(at, state=ActionState.RUNNING, asked=1.0),))
    execution.now_s += 1000 * HOUR_S
    assert foretold(execution).ends_s[0] == execution.now_s


def test_lanes_collapse_until_they_fit():
    execution = Execution(two_products())
    execution.command(Verb.START)
    execution.tick()
    found = foretold(execution)
    n = int((execution.graph.phase != list(Phase).index(Phase.SETTLED)).sum())
    kinds = {}
    for most in (n, n - 1, 5):
        kind, lanes = lanes_of(execution.graph, execution.progress, found, most, execution.now_s)
        kinds[kind] = lanes
        assert sum(sum(lane.states.values()) for lane in lanes) == n
        assert [list(Phase).index(lane.phase) for lane in lanes] == sorted(list(Phase).index(p.phase) for p in lanes)
        assert sum(lane.critical for lane in lanes) == sum(
            execution.graph.actions[i].phase is not Phase.SETTLED for i in found.critical
        )
        for lane in lanes:
            assert all(one.begins_s <= one.ends_s for one in lane.intervals)
    assert list(kinds) == [LaneKind.ACTION, LaneKind.REGION, LaneKind.PHASE]
    assert all(lane.region is None for lane in kinds[LaneKind.PHASE])


def test_a_lane_has_few_intervals_and_none_is_lost():
    n = 3 * INTERVALS_MAX
    actions = tuple(Action(action=f"u/{i}", phase=Phase.UPSIZE, service=f"s{i}", region="r") for i in range(n))
    graph, progress = execution_graph(actions, {}, {}), initial_progress(actions, 0.0)
    rows = tuple(replace(progress.row(i), state=ActionState.DONE, asked=1.0, reached=1.0) for i in range(n))
    progress = changed(progress, rows)
    begins = np.arange(n) * 100.0 + (np.arange(n) // 30) * 5000.0
    found = forecast(graph, progress, Terms(), begins, begins + 10.0, 1e6)
    _, (lane,) = lanes_of(graph, progress, found, 5, 1e6)
    assert len(lane.intervals) == INTERVALS_MAX
    assert lane.intervals[0].begins_s == 0.0
    assert lane.intervals[-1].ends_s == begins[-1] + 10.0
    gaps = [b.begins_s - a.ends_s for a, b in pairwise(lane.intervals)]
    assert max(gaps) > 5000.0, "the long gap stays open"
