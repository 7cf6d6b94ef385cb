"""For objects that come and go, every round is legal, moves no placed object, and may use known prices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from libs.assignment.language.errors import BadValues, UnknownName
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.solvers.price.arrivals import Stream
from libs.assignment.solvers.price.solver import solve_price
from tests.libs.assignment.markets import broken, gained, placement


@pytest.mark.parametrize("kind", [{}, {"jobs": True, "labels": True, "special": True}])
def test_every_round_is_legal_and_nothing_that_runs_is_moved(kind: dict[str, bool]) -> None:
    problem = placement(1, objects=600, containers=10, over=3.0, **kind)
    stream, rng = Stream(problem, seed=4), np.random.default_rng(0)
    running = np.zeros(600, dtype=bool)
    for batch in np.array_split(rng.permutation(600), 12):
        before = stream.assignment
        done = stream.place(batch)
        after = stream.assignment
        assert broken(problem, after) <= 1e-9
        assert (after[running] == before[running]).all()
        assert (after[done.placed] == done.containers).all()
        assert set(done.placed) <= set(batch) | set(np.flatnonzero(~running))
        running[done.placed] = True
        assert ((after < 10) == running).all()
        assert not running[done.waiting].any()
        worth = problem.dimensions["worth"].objects
        assert worth[done.placed].sum() <= done.bound + 1e-6
        gone = rng.choice(np.flatnonzero(running), size=8, replace=False)
        stream.leave(gone)
        running[gone] = False
    assert running.sum() > 60


def test_one_round_with_everybody_is_about_as_good_as_a_solve() -> None:
    problem = placement(2, objects=900, containers=30, jobs=True)
    stream = Stream(problem)
    stream.place(np.arange(900))
    assert gained(problem, stream.assignment) >= 0.98 * gained(problem, solve_price(problem).assignment)


def test_who_waits_is_placed_when_others_leave() -> None:
    problem = placement(3, objects=300, containers=5, over=2.0)
    stream = Stream(problem)
    first = stream.place(np.arange(300))
    assert len(first.waiting) > 30
    stream.leave(first.placed[::2])
    second = stream.place()
    assert len(second.placed) > 10
    assert set(second.placed) <= set(first.waiting)


def test_known_prices_lose_nothing() -> None:
    problem = placement(4, objects=3000, containers=60, over=2.0)
    half = np.arange(0, 3000, 2)
    cold = solve_price(placement(4, objects=3000, containers=60, over=2.0))
    near = solve_price(placement(4, objects=3000, containers=60, over=2.0), prices=cold.prices)
    assert near.objective[1][0] <= 0.995 * cold.objective[1][0]
    assert near.bound[1] == pytest.approx(cold.bound[1], rel=2e-3)
    stream, forgetful = Stream(problem), Stream(problem)
    for one in (stream, forgetful):
        one.place(half)
    forgetful._price = None
    known, anew = (one.place(half + 1) for one in (stream, forgetful))
    assert known.bound == pytest.approx(anew.bound, rel=2e-3)
    assert gained(problem, stream.assignment) >= 0.995 * gained(problem, forgetful.assignment)


def test_the_stream_begins_with_what_runs_and_may_begin_again() -> None:
    start = np.full(200, 8)
    start[:16] = np.arange(16) % 8
    problem = placement(5, objects=200, containers=8, initial=start)
    stream = Stream(problem)
    assert (stream.assignment == start).all()
    stream.place(np.arange(16, 120))
    known = stream.assignment
    restated = placement(5, objects=200, containers=8, initial=known)
    restated.add_constraint(AvoidMovingSpec(objects=np.flatnonzero(known < 8).tolist()))
    result = solve_price(restated)
    assert (result.assignment[known < 8] == known[known < 8]).all()
    assert gained(restated, result.assignment) >= gained(restated, known)


def test_nobody_arrives_twice() -> None:
    stream = Stream(placement(6))
    stream.place([1, 2])
    with pytest.raises(BadValues, match="objects 2 arrived before"):
        stream.place([2, 3])


def test_objects_come_and_go_by_name_or_index() -> None:
    out = Filter(but=["queue"])
    problem = Problem(objects=["web", "db"], containers=["host", "queue"], initial=["queue", "queue"])
    problem.add_dimension("cpu", [1, 1], containers=[1, 0])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=out))
    problem.add_goal(MaximizeAllocationSpec(filter=out))
    stream = Stream(problem)
    assert stream.place(["db"]).placed.tolist() == [1]
    assert stream.place("web").waiting.tolist() == [0]
    stream.leave(["db"])
    assert stream.place([]).placed.tolist() == [0]
    with pytest.raises(UnknownName, match="place: no object named 'dbs'; did you mean 'db'"):
        stream.place(["dbs"])
    for wrong in ([2], [-1], [0.5]):
        with pytest.raises(BadValues, match="place: "):
            stream.place(wrong)
        with pytest.raises(BadValues, match="leave: "):
            stream.leave(wrong)


def test_coming_and_going_for_long_leaves_no_trace() -> None:
    problem = placement(7, objects=60, containers=4, jobs=True, over=1.0)
    stream, everybody = Stream(problem), np.arange(60)
    for _, half in zip(range(40), itertools.cycle([everybody[::2], everybody[1::2]]), strict=False):
        found = stream.place(half)
        assert broken(problem, stream.assignment) <= 1e-9
        stream.leave(np.concatenate([found.placed, found.waiting]))
    assert (stream.assignment == 4).all()
    assert len(stream.place(everybody).placed) > 40
