"""The parts' views add up to the whole, and constraints that hold in all parts hold in the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.solvers.partitioned.apportion import apportion
from libs.assignment.solvers.partitioned.part import parts_of
from libs.assignment.solvers.partitioned.part_problem import part_problem
from libs.assignment.solvers.partitioned.restriction import Restriction
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, small_world

LINEAR = [
    "capacity",
    "capacity while moving",
    "capacity at least",
    "capacity moved in",
    "group count",
    "group count, share of the group",
    "group count, share of the item",
    "group count, exact",
    "group moves",
    "stay",
    "non accepting",
    "to free",
    "avoid",
    "in progress",
    "drain",
]
"""Constraints of the form max(0, linear): for any cut, the whole keeps what all parts keep."""


def a_cut(seed: int, parts: int = 3):
    """Distribute containers to parts at random, with one split."""
    rng = np.random.default_rng(seed)
    problem = small_world()
    of_container = rng.permutation(np.arange(CONTAINERS) % parts)
    of_container[rng.integers(CONTAINERS)] = -1
    return problem, parts_of(problem.initial, of_container, rng.integers(parts, size=OBJECTS), parts)


def random_answers(parts, seed: int):
    rng = np.random.default_rng(seed)
    return [rng.integers(len(part.containers), size=len(part.objects)) for part in parts]


def together(problem: Problem, parts, answers):
    whole = problem.initial.copy()
    for part, answer in zip(parts, answers, strict=True):
        whole[part.objects] = part.containers[answer]
    return whole


def total(expressions, assignment) -> float:
    return sum(float(one.value(assignment).sum()) for one in expressions)


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_part_is_the_whole(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec)
    whole = parts_of(problem.initial, np.zeros(CONTAINERS, dtype=int), np.zeros(OBJECTS, dtype=int), 1)
    (part,) = [part_problem(problem, Restriction(whole, problem.initial, CONTAINERS), 0)]
    for seed in range(5):
        a = np.random.default_rng(seed).integers(CONTAINERS, size=OBJECTS)
        assert part.goals[0].cost.value(a) == pytest.approx(problem.goals[0].cost.value(a))
    assert compile_problem(part).state(part.initial).part[1] == pytest.approx(
        compile_problem(problem).state(problem.initial).part[1]
    )


@pytest.mark.parametrize("name", LINEAR)
def test_what_no_part_worsens_the_whole_does_not_worsen(name: str) -> None:
    """Check element by element. Excess at the start is divided among parts, not counted twice."""
    looked = 0
    for seed in range(5):
        problem, parts = a_cut(seed)
        problem.add_constraint(EXAMPLES[name].spec)
        restriction = Restriction(parts, problem.initial, CONTAINERS)
        stated = [part_problem(problem, restriction, k) for k in range(len(parts))]
        seen = [[one for c in part.constraints for one in c.excess] for part in stated]
        whole = problem.constraints[0].excess
        at_start = sum(total(one, p.initial) for one, p in zip(seen, stated, strict=True))
        if name in ("group count, exact", "in progress"):  # what no part's objects can mend is no part's
            assert at_start <= total(whole, problem.initial) + 1e-9
        else:
            assert at_start == pytest.approx(total(whole, problem.initial))
        for k in range(6):
            rng = np.random.default_rng((seed, k))
            answers = []
            for part, problem_of_part, mine in zip(parts, stated, seen, strict=True):
                answer, before = problem_of_part.initial, [one.value(problem_of_part.initial) for one in mine]
                for _ in range(6):
                    tried = answer.copy()
                    tried[rng.integers(len(tried))] = rng.integers(len(part.containers))
                    now = [one.value(tried) for one in mine]
                    if all((a <= b + 1e-9).all() for a, b in zip(now, before, strict=True)):
                        answer = tried
                answers.append(answer)
            after = together(problem, parts, answers)
            looked += int((after != problem.initial).any())
            for one in whole:
                assert (one.value(after) <= one.value(problem.initial) + 1e-9).all()
    assert looked > 15


@pytest.mark.parametrize(
    "name", ["increase", "balance SQUARES RELATIVE_UTIL", "balance IDEAL RELATIVE", "bins", "group count"]
)
def test_what_is_a_parts_own_changes_as_in_the_whole(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    of_container = np.array([0, 0, 1, 1, 2, 2, 2])  # racks are not cut
    parts = parts_of(problem.initial, of_container, np.zeros(OBJECTS, dtype=int), 3)
    if name == "bins":
        problem.goals.clear()
        problem.add_goal(MinimizeBinsSpec(costs={"host2": 3}), normalise=False)
    restriction = Restriction(parts, problem.initial, CONTAINERS)
    for k, part in enumerate(parts):
        stated = part_problem(problem, restriction, k)
        for seed in range(10):
            answer = random_answers(parts, seed)[k]
            whole = problem.initial.copy()
            whole[part.objects] = part.containers[answer]
            change = problem.goals[0].cost.value(whole) - problem.goals[0].cost.value(problem.initial)
            mine = stated.goals[0].cost.value(answer) - stated.goals[0].cost.value(stated.initial)
            assert mine == pytest.approx(change)


@pytest.mark.parametrize("name", ["increase", "balance SQUARES RELATIVE_UTIL", "balance IDEAL RELATIVE"])
def test_parts_never_think_better_of_convex_goals_than_the_whole(name: str) -> None:
    for seed in range(10):
        problem, parts = a_cut(seed)
        problem.add_goal(EXAMPLES[name].spec)
        restriction = Restriction(parts, problem.initial, CONTAINERS)
        stated = [part_problem(problem, restriction, k) for k in range(len(parts))]
        costs = [one.goals[0].cost for one in stated]
        start = sum(float(c.value(p.initial)[0, 0]) for c, p in zip(costs, stated, strict=True))
        assert start == pytest.approx(problem.goals[0].cost.value(problem.initial)[0, 0])
        for k in range(10):
            answers = random_answers(parts, k)
            believed = sum(float(c.value(a)[0, 0]) for c, a in zip(costs, answers, strict=True))
            assert believed >= problem.goals[0].cost.value(together(problem, parts, answers))[0, 0] - 1e-9


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=4), st.integers(2, 6), st.integers(0, 1000))
def test_slack_in_whole_numbers_is_divided_in_whole_numbers(amounts: list[int], parts: int, seed: int) -> None:
    weights = np.random.default_rng(seed).random((parts, len(amounts)))
    weights /= weights.sum(axis=0)
    shares = apportion(np.array(amounts, dtype=float), weights)
    assert shares.sum(axis=0) == pytest.approx(np.array(amounts, dtype=float))
    slack = shares[:, np.array(amounts) < 0]
    assert (slack == np.rint(slack)).all()
    assert (slack <= 0).all()
    assert (np.abs(shares - weights * np.array(amounts)) < 1).all()
