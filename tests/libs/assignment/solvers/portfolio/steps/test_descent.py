"""Every change of counts has the cost of its definition, and at the end no step saves anything."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.repair import is_broken
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.steps import descent
from libs.assignment.solvers.portfolio.steps.descent import Walk
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import Network, network_of, not_followed
from libs.assignment.solvers.portfolio.steps.state import State, state_of
from libs.assignment.solvers.portfolio.steps.transfer import transfer
from libs.mip.model import Model
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, world
from tests.libs.assignment.worlds import random_assignment, small_world

LEAST = 1e-7


class Everywhere:
    """A guide without knowledge."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered

    def at(self, x: Floats) -> Floats:
        return np.ones(len(self.lowered.problem.containers))

    def open(self, x: Floats) -> Bools:
        return np.ones(len(self.lowered.kind), dtype=np.bool_)


def down(lowered: Lowered, model: Model) -> Ints:
    return Walk(lowered, model).down(lowered.held, LEAST, Everywhere(lowered), lambda: False)


def begin(lowered: Lowered, model: Model, counts: Ints) -> tuple[Network, State]:
    network = network_of(lowered, model)
    state = state_of(network, lowered.point_of(counts))
    measure(network, state)
    return network, state


def cost_after(lowered: Lowered, model: Model, counts: Ints, changes: list[tuple[int, int]]) -> float:
    """Return the cost of changed counts by definition; inf if a row besides those of classes, or a bound, is broken."""
    after = counts.copy()
    for q, by in changes:
        after[q] += by
    point, classes = lowered.point_of(after), len(lowered.classes.size)
    activity = model.matrix @ point
    off = np.maximum(model.row_lower - activity, activity - model.row_upper)[classes:]
    over = np.maximum(model.lower - point, point - model.upper)
    broken = off.max(initial=0.0) > 1e-7 or over.max(initial=0.0) > 1e-7
    return np.inf if broken else model.objective(point) - model.objective(lowered.point_of(counts))


def assert_margins(lowered: Lowered, model: Model, counts: Ints) -> None:
    _, state = begin(lowered, model, counts)
    for q in range(len(counts)):
        for margin, by in ((state.more[q], 1), (state.less[q], -1)):
            assert margin == pytest.approx(cost_after(lowered, model, counts, [(q, by)]), abs=1e-6), (q, by)


@pytest.mark.parametrize("name", EXAMPLES)
def test_margins_of_every_spec_are_by_definition(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    lowered = lower(problem)
    model = lowered.at(1, (0.0,))
    if not_followed(lowered):
        kinds = {type(one).__name__ for one in lowered.completions}
        assert kinds & {"Pieces", "Maxima"}, "n-th largest values and curves alone have no steps"
        assert not_followed(lowered) == (problem.goals[0].spec.where,)
        return
    for seed in range(2):
        assert_margins(lowered, model, lowered.counts(random_assignment(seed)))


@pytest.mark.parametrize("seed", range(6))
def test_margins_know_hard_limits_and_levels_above(seed: int) -> None:
    problem = world(seed)
    limit = Limit(default=float(np.bincount(problem.initial).max()))
    problem.add_constraint(CapacitySpec(dimension="count", limit=limit))
    problem.add_goal(MinimizeMovementSpec(), priority=1)
    lowered = lower(problem)
    above = lowered.values(lowered.point_of(lowered.held))[1]
    assert_margins(lowered, lowered.at(1, (0.0,)), lowered.held)
    assert_margins(lowered, lowered.at(2, (0.0, above)), lowered.held)


@pytest.mark.parametrize("seed", range(6))
def test_where_it_ends_no_step_saves_anything(seed: int) -> None:
    lowered = lower(world(seed, objects=40))
    model = lowered.at(1, (0.0,))
    counts = down(lowered, model)
    point = lowered.point_of(counts)
    assert model.objective(point) < model.objective(lowered.point_of(lowered.held))
    assert not is_broken(model, point)
    assert (np.bincount(lowered.kind, counts) == lowered.classes.size).all()
    of = {(int(k), int(c)): q for q, (k, c) in enumerate(zip(lowered.kind, lowered.container, strict=True))}
    classes, containers = len(lowered.classes.size), len(lowered.problem.containers)
    steps = [
        [(of[k, a], -1), (of[k, b], 1)]
        for k in range(classes)
        for a in range(containers)
        for b in range(containers)
        if a != b and (k, a) in of and (k, b) in of and counts[of[k, a]] > 0
    ]
    for step in steps:
        assert cost_after(lowered, model, counts, step) > -2 * LEAST


@pytest.mark.parametrize("seed", range(4))
def test_changes_that_save_too_little_together_end_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "TRIES", 10)
    lowered = lower(world(seed, objects=40))
    model = lowered.at(1, (0.0,))

    def found(worth: float) -> tuple[float, int]:
        walk = Walk(lowered, model)
        counts = walk.down(lowered.held, LEAST, Everywhere(lowered), lambda: False, worth=worth)
        assert not is_broken(model, lowered.point_of(counts))
        return model.objective(lowered.point_of(counts)), walk.tried

    patient, all_tries = found(np.inf)
    assert (patient, all_tries) == found(0.0), "so few changes are not counted at all"
    monkeypatch.setattr(descent, "PATIENCE_MIN", 10)
    monkeypatch.setattr(descent, "PATIENCE", 0)
    hasty, few = found(np.inf)
    assert few < all_tries
    assert hasty >= patient
    assert found(0.0)[0] <= patient + LEAST, "whatever saves anything goes on"
    monkeypatch.setattr(descent, "ASKED", 10)
    some = found(0.1)
    monkeypatch.setattr(descent, "ASKED", 10_000)
    assert found(100.0) == some, "fewer changes than the caller meant must save so much less"


def two_halls() -> Problem:
    """Return a problem with nothing placed: one party wants 3 after the loss of any hall, and the largest hall
    costs.
    """
    problem = Problem(objects=8, containers=2, initial=[1] * 8)
    problem.add_scope("party", [0, -1], 1)
    problem.add_partition("hall", [0, 0, 0, 0, 1, 1, 1, 1], 2)
    problem.add_dimension("worth", 1.0)
    wanted = SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=3.0))
    problem.add_goal(wanted, weight=50.0, normalise=False)
    problem.add_goal(LargestGroupSpec(scope="party", partition="hall", dimension="worth"), normalise=False)
    return problem


def test_two_steps_get_over_what_one_cannot() -> None:
    lowered = lower(two_halls())
    model = lowered.at(1, (0.0,))
    network, state = begin(lowered, model, lowered.held)
    assert transfer(network, state, LEAST, 1_000) == 0, "the first in a hall is lost with it"
    counts = down(lowered, model)
    assert model.objective(lowered.point_of(counts)) == pytest.approx(3.0)
    assert sorted(counts.tolist()) == [1, 1, 3, 3]


def test_many_objects_of_a_class_go_in_one_step() -> None:
    problem = Problem(objects=3_000, containers=2, initial=np.ones(3_000, dtype=np.int64))
    problem.add_scope("party", [0, -1], 1)
    problem.add_goal(CapacitySpec(scope="party", dimension="count", bound=Bound.MIN, limit=Limit(default=2_500.0)))
    problem.add_goal(MinimizeMovementSpec(), priority=1)
    lowered = lower(problem)
    network, state = begin(lowered, lowered.weighted((1.0, 50.0, 1.0)), lowered.held)
    assert 1 < transfer(network, state, LEAST, 1_000) <= 12
    assert np.rint(state.value[: len(lowered.kind)]).tolist() == [2_500, 500]


def test_a_caller_can_end_it() -> None:
    lowered = lower(world(1))
    walk = Walk(lowered, lowered.at(1, (0.0,)))
    assert (walk.down(lowered.held, LEAST, Everywhere(lowered), lambda: True) == lowered.held).all()


def test_what_has_no_steps_is_still_solved() -> None:
    problem = world(2, objects=40)
    problem.add_goal(MinimizeNthLargestUtilizationSpec(dimension="worth", scope="party", n=1), normalise=False)
    lowered = lower(problem)
    walk = Walk(lowered, lowered.at(1, (0.0,)))
    assert walk.network is None
    assert (walk.down(lowered.held, LEAST, Everywhere(lowered), lambda: False) == lowered.held).all()
    found = solve_portfolio(problem, SEARCHED)
    assert found.objective[1][0] < found.objective[0][0]
    said = "without steps on counts, which cannot follow MinimizeNthLargestUtilizationSpec"
    assert said in found.notes
    assert said in found.in_words()
    assert said not in solve_portfolio(world(2, objects=40), SEARCHED).notes


def test_steps_that_two_classes_promise_each_other_in_vain_end() -> None:
    """Only the largest count matters, so margins promise savings that no step of one object gives."""
    problem = Problem(objects=205, containers=51, initial=np.arange(205) % 51)
    problem.add_dimension("kind", np.arange(205) % 5 + 1.0)
    problem.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.MAX))
    problem.add_goal(CapacitySpec(dimension="kind", limit=Limit(default=1e6)))
    lowered = lower(problem)
    model = lowered.at(1, (0.0,))
    network, state = begin(lowered, model, lowered.held)
    assert transfer(network, state, LEAST, 1_000) < 1_000
    assert model.objective(lowered.point_of(down(lowered, model))) <= model.objective(lowered.point_of(lowered.held))


def test_the_clock_is_read_more_often_where_steps_are_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step looks at every class. With thousands of classes, thousands of steps took longer than the time limit."""
    problem = Problem(objects=300, containers=10, initial=np.zeros(300, np.int64))
    problem.add_dimension("size", np.arange(300) + 1.0)
    problem.add_goal(BalanceSpec(dimension="size"))
    lowered = lower(problem)
    walk = Walk(lowered, lowered.at(1, (0.0,)))
    looks: list[bool] = []

    def stop() -> bool:
        looks.append(False)
        return False

    found = walk.single(lowered.held, LEAST, stop)
    seldom = len(looks)
    monkeypatch.setattr("libs.assignment.solvers.portfolio.steps.descent.VISITS", 3_600)
    looks.clear()
    assert (walk.single(lowered.held, LEAST, stop) == found).all()
    assert len(looks) > seldom + 20, "after each ten steps or fewer"
