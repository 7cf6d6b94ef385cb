"""Check explanations of moves against the evaluation of the moved assignment."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment import Limits, solve
from libs.assignment.language.errors import ModelError, UnknownName
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.report.explain.comparison import compare
from libs.assignment.report.explain.explainer import Explainer
from libs.assignment.report.explain.timeline import timeline_of
from libs.assignment.report.explain.tree import tree
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.settings import SearchLimits
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, random_assignment, small_world


def every_spec() -> Problem:
    """Return all examples as goals, and as constraints if possible."""
    problem = small_world()
    for example in EXAMPLES.values():
        problem.add_goal(example.spec, weight=1.5, priority=len(problem.goals) % 3)
    for number, example in enumerate(EXAMPLES.values()):
        try:
            problem.add_constraint(example.spec, hard=number % 2 == 0)
        except ModelError:
            continue
    return problem


@pytest.fixture(scope="module")
def world() -> tuple[Problem, np.ndarray, Explainer]:
    problem, assignment = every_spec(), random_assignment(3)
    return problem, assignment, Explainer(problem, assignment)


def values(problem: Problem, assignment) -> list[float]:
    constraints = [sum(part.value(assignment).sum() for part in c.excess) for c in problem.constraints]
    return constraints + [goal.cost.value(assignment)[0, 0] for goal in problem.goals]


def breaks(problem: Problem, before, after) -> set[str]:
    return {
        c.spec.where
        for c in problem.constraints
        for part in c.excess
        if c.hard and (part.value(after) > part.value(before) + 1e-9).any()
    }


def objective(problem: Problem, assignment) -> list[float]:
    levels = [sum(c.weight * part.value(assignment).sum() for c in problem.constraints for part in c.excess)]
    for priority in sorted({goal.priority for goal in problem.goals}):
        mine = [goal for goal in problem.goals if goal.priority == priority]
        levels.append(sum(goal.weight / goal.scale * goal.cost.value(assignment)[0, 0] for goal in mine))
    return levels


def test_a_move_changes_each_term_as_evaluation_says(world) -> None:
    problem, assignment, explain = world
    before = values(problem, assignment)
    rng, forbidden = np.random.default_rng(0), 0
    for _ in range(60):
        o, c = int(rng.integers(OBJECTS)), int(rng.integers(CONTAINERS))
        after = assignment.copy()
        after[o] = c
        said = explain.move(f"task{o}", c)
        assert [one.before for one in said.changes] == pytest.approx(before, abs=1e-7)
        assert [one.after for one in said.changes] == pytest.approx(values(problem, after), abs=1e-7)
        assert set(said.forbidden_by) == breaks(problem, assignment, after)
        forbidden += not said.allowed
        old, new = objective(problem, assignment), objective(problem, after)
        first = next((b - a for a, b in zip(old, new, strict=True) if abs(b - a) > 1e-7), 0.0)
        assert said.verdict == np.sign(first)
    assert 10 < forbidden < 60


def test_every_other_container_is_accounted_for(world) -> None:
    problem, assignment, explain = world
    for o in range(0, OBJECTS, 5):
        said = explain.unplaced(o)
        counted = sum(one.containers for one in (*said.forbidden, *said.dearer)) + len(said.same) + len(said.better)
        assert counted == said.others == CONTAINERS - 1
        barred = [c for c in range(CONTAINERS) if breaks(problem, assignment, moved(assignment, o, c))]
        assert sum(one.containers for one in said.forbidden) == len(barred)


def moved(assignment, o: int, c: int):
    after = assignment.copy()
    after[o] = c
    return after


def yard() -> Problem:
    problem = Problem(objects=["big", "web", "db", "old"], containers=["a", "b", "c", "d"], initial=[3, 0, 1, 2])
    problem.add_partition("kind", [0, 0, 1, 1], ["front", "back"])
    problem.add_dimension("cpu", [6, 3, 3, 1], containers=[8, 8, 8, 20])
    problem.add_constraint(CapacitySpec(name="fits", dimension="cpu"))
    problem.add_constraint(AvoidAssignmentsSpec(name="no disk", assignments=[("big", ["c"])]))
    problem.add_goal(CapacitySpec(name="leave d", dimension="cpu", limit=Limit(default=99, items={"d": 0})), weight=2)
    problem.add_goal(MinimizeMovementSpec(name="calm"))
    return problem


def test_in_words_it_says_which_constraint_and_by_how_much() -> None:
    explain = Explainer(yard())
    assert explain.unplaced("big").in_words() == (
        "big is in d; of 3 other containers\n"
        "  2 forbidden by CapacitySpec 'fits': over by 1 at least, in a\n"
        "  1 forbidden by AvoidAssignmentsSpec 'no disk': over by 1 at least, in c"
    )
    assert explain.unplaced("old").in_words() == (
        "old is in c; of 3 other containers\n  3 dearer, mostly by MinimizeMovementSpec 'calm': by 0.25 at least, in a"
    )
    said = explain.move("big", "a").in_words()
    assert said.startswith("big from d to a: forbidden by CapacitySpec 'fits'\n")
    assert "CapacitySpec 'fits' (hard constraint): 0 -> 1" in said
    assert "CapacitySpec 'leave d' (goal, priority 0): 6 -> 0" in said
    assert "no disk" not in said
    assert "allowed, but worse" in explain.move("web", "c").in_words()
    assert "makes no difference" in explain.move("web", "a").in_words()
    with pytest.raises(UnknownName, match="object: no object named 'bigg'; did you mean 'big'"):
        explain.move("bigg", "a")


def test_a_better_place_that_was_not_looked_at_is_named() -> None:
    problem = yard()
    problem.goals.clear()
    problem.add_goal(CapacitySpec(name="leave a", dimension="cpu", limit=Limit(default=99, items={"a": 0})))
    said = Explainer(problem).unplaced("web")
    assert said.better == ("b", "c", "d")
    assert "3 better: b, c, d; a longer search would find it" in said.in_words()


def test_one_element_that_grows_forbids_though_others_fall_by_more() -> None:
    """A move repairs two in one rack and breaks one in another: the total falls, but the move is forbidden."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 1])
    problem.add_partition("all", [0, 0, 0])
    problem.add_dimension("heavy", [3, 1, 1])
    problem.add_constraint(CapacitySpec(dimension="heavy", limit=Limit(items=[1, 3])))
    said = Explainer(problem).move(0, 1)
    assert said.changes[0].change == -2
    assert said.forbidden_by == ("CapacitySpec",)
    assert said.over_by == (1.0,)  # the growth in container 1, and not the fall of the total
    (reason,) = Explainer(problem).unplaced(0).forbidden
    assert (reason.name, reason.least) == ("CapacitySpec", 1.0)


def test_two_assignments_are_compared_term_by_term() -> None:
    problem = every_spec()
    a, b = problem.initial, random_assignment(8)
    found = compare(problem, a, b)
    assert found.differ == int((a != b).sum())
    assert [one.before for one in found.changes] == pytest.approx(values(problem, a), abs=1e-7)
    assert [one.after for one in found.changes] == pytest.approx(values(problem, b), abs=1e-7)
    problem = yard()
    better = solve_local(problem, SearchLimits(tries_max=2_000)).assignment
    assert compare(problem, problem.initial, better).verdict == -1
    worse = np.array([0, 0, 1, 2])
    assert compare(problem, problem.initial, worse).verdict == 1
    assert compare(problem, worse, problem.initial).verdict == -1
    assert "1 objects differ; the first is better" in compare(problem, problem.initial, worse).in_words()


def test_the_tree_shows_every_node_once_with_its_value() -> None:
    problem = yard()
    problem.add_constraint(GroupCountSpec(partition="kind", limit=Limit(default=1)), hard=False)
    said = tree(problem, np.array([0, 0, 1, 2]))
    assert "CapacitySpec 'fits' (hard constraint, weight 1)" in said
    assert "PositivePart [4 x 1]: sum 1; 1 in a" in said
    assert "AFTER of cpu by container [4 x 1]: sum 13; 9 in a, 3 in b, 1 in c" in said
    assert "GroupCountSpec (soft constraint, weight 1)" in said
    assert "AFTER of count by container by kind [4 x 2]: sum 4; 2 in a, front, 1 in b, back, 1 in c, back" in said
    numbers = [line.split()[0] for line in said.splitlines() if line.strip().startswith("#")]
    assert len(numbers) == len(set(numbers)) > 10


def test_the_tree_of_every_spec_can_be_written() -> None:
    said = tree(every_spec(), random_assignment(1))
    for example in EXAMPLES.values():
        assert example.spec.where in said
    assert "see #" in said


LIMITS = {
    "local": Limits(tries_max=4_000),
    "mip": Limits(nodes_max=20),
    "partitioned": Limits(tries_max=4_000, parts=2, insist=True),
    "portfolio": Limits(exact_columns_max=0, neighbourhoods_max=10),
}


@pytest.mark.parametrize("solver", LIMITS)
def test_the_timeline_adds_up_term_by_term(solver: str) -> None:
    problem = small_world()
    for name in ("balance IDEAL RELATIVE", "movement", "increase"):
        problem.add_goal(EXAMPLES[name].spec, weight=2, priority=0 if name != "increase" else 3)
    problem.add_constraint(EXAMPLES["capacity"].spec, hard=False, weight=5)
    result = solve(problem, LIMITS[solver], solver=solver)
    said = timeline_of(problem, result)
    assert len(said.moments) == len(result.timeline) > 1
    assert sum(one.moved for one in said.moments) >= result.moved > 0
    for one in said.moments:
        levels = [0.0] * 3
        for term, value in zip(said.terms, one.values, strict=True):
            levels[term.level] += term.weight * value
        assert levels == pytest.approx(one.objective, abs=1e-7)
    assert said.moments[0].moved == 0
    assert said.moments[-1].values == pytest.approx(values(problem, result.assignment), abs=1e-7)
    assert "0 objects moved" in said.in_words()
    assert "CapacitySpec:" in said.in_words()


def test_a_timeline_of_prices_says_what_was_broken_at_each_time() -> None:
    """The start is broken, and the first placement repairs it. The steps show both, each with its moves."""
    problem = Problem(objects=8, containers=3, initial=[0, 0, 0, 0, 0, 0, 2, 2])
    placed = Filter(but=[2])
    problem.add_dimension("size", [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0], containers=[4.0, 5.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="size", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(dimension="size", filter=placed))
    result = solve_price(problem)
    said = timeline_of(problem, result)
    assert len(said.moments) == len(result.timeline) > 1
    assert result.timeline[0].objective == pytest.approx(objective(problem, problem.initial))
    assert result.timeline[0].objective[0] == 5.0
    assert said.moments[-1].values == pytest.approx(values(problem, result.assignment), abs=1e-7)
    for one in said.moments:
        levels = [0.0, 0.0]
        for term, value in zip(said.terms, one.values, strict=True):
            levels[term.level] += term.weight * value
        assert levels == pytest.approx(one.objective, abs=1e-7)
