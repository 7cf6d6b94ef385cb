"""Parts: what each sees adds up to the whole, and what holds in all of them holds in it."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import BadValues, ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.apportion import apportion
from libs.assignment.solvers.partitioned.coalesce import coalesce
from libs.assignment.solvers.partitioned.dealing import deal
from libs.assignment.solvers.partitioned.part import parts_of
from libs.assignment.solvers.partitioned.part_problem import part_problem
from libs.assignment.solvers.partitioned.parts import plan_parts
from libs.assignment.solvers.partitioned.restriction import Restriction
from libs.assignment.solvers.partitioned.shared_containers import large_containers
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.settings import Partitioning, SearchLimits
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
"""Constraints of the form max(0, linear): whatever the cut, the whole holds what all parts hold."""


def a_cut(seed: int, parts: int = 3):
    """Containers at random to parts, one of them split."""
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
    """Element by element; and what is broken at the start is divided, not counted twice."""
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


@pytest.mark.parametrize("how", Deal)
def test_everyone_is_dealt_evenly(how: Deal) -> None:
    kinds, loads = np.arange(600) % 7, np.ones(600)
    of = deal(how, kinds, loads, 6, np.random.default_rng(0))
    counts = np.bincount(of, minlength=6)
    assert counts.max() - counts.min() <= {Deal.RANDOM: 0, Deal.POWER_OF_TWO: 6, Deal.BY_ATTRIBUTE: 1}[how]
    assert (of != deal(how, kinds, loads, 6, np.random.default_rng(1))).any()
    each = np.array([np.bincount(of[kinds == kind], minlength=6) for kind in range(7)])
    if how is Deal.BY_ATTRIBUTE:
        assert each.max() - each.min() <= 2


def test_power_of_two_evens_out_what_is_dealt_at_random() -> None:
    loads = np.random.default_rng(2).pareto(1.5, size=400) + 1
    worst = {}
    for how in (Deal.RANDOM, Deal.POWER_OF_TWO):
        of = [deal(how, np.zeros(400), loads, 8, np.random.default_rng(seed)) for seed in range(20)]
        worst[how] = np.mean([np.bincount(one, weights=loads).max() for one in of])
    assert worst[Deal.POWER_OF_TWO] < worst[Deal.RANDOM]


def crowd(objects: int = 600, containers: int = 24, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    initial = np.concatenate([np.arange(containers), rng.integers(containers // 2, size=objects - containers)])
    problem = Problem(objects=objects, containers=containers, initial=initial)
    problem.add_scope("rack", np.arange(containers) // 4)
    problem.add_partition("job", np.arange(objects) % 150)
    cpu = rng.integers(1, 5, size=objects)
    problem.add_dimension("cpu", cpu, containers=np.full(containers, 3.0 * objects / containers))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2)))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    problem.add_goal(MinimizeMovementSpec(), weight=0.01)
    return problem


def levels(problem: Problem, assignment) -> list[float]:
    program = compile_problem(problem)
    return program.state(assignment).part[: program.levels].tolist()


@pytest.mark.parametrize("how", Deal)
def test_the_answer_is_legal_and_no_worse_than_the_start(how: Deal) -> None:
    problem = crowd()
    before = [one.value(problem.initial) for c in problem.constraints for one in c.excess]
    options = Partitioning(parts=3, how=how, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(tries_max=60_000), seed=1, options=options)
    after = [one.value(result.assignment) for c in problem.constraints for one in c.excess]
    assert all((a <= b + 1e-9).all() for a, b in zip(after, before, strict=True))
    assert result.broken[1] < result.broken[0]
    assert [result.broken[1], *result.objective[1]] == pytest.approx(levels(problem, result.assignment))
    assert result.solver == "partitioned"
    assert "3 parts" in result.in_words()


def test_hard_constraints_hold_even_where_parts_cannot_know() -> None:
    """Steps over racks that are cut: all specs as hard constraints, whatever the cut."""
    for seed in range(2):
        problem = small_world()
        for name in (*LINEAR, "spread", "dependency", "diversity", "together", "failure buffer", "move group"):
            problem.add_constraint(EXAMPLES[name].spec)
        problem.add_goal(EXAMPLES["balance IDEAL RELATIVE"].spec)
        before = [one.value(problem.initial) for c in problem.constraints for one in c.excess]
        options = Partitioning(parts=3, how=Deal.RANDOM, insist=True, polish=0.0)
        result = solve_partitioned(problem, SearchLimits(tries_max=3_000), seed=seed, options=options)
        after = [one.value(result.assignment) for c in problem.constraints for one in c.excess]
        assert all((a <= b + 1e-7).all() for a, b in zip(after, before, strict=True))
        assert levels(problem, result.assignment) <= levels(problem, problem.initial)


def test_the_same_answer_in_process_threads_and_processes() -> None:
    problem, limits, options = crowd(), SearchLimits(tries_max=20_000), Partitioning(parts=3)
    alone = solve_partitioned(problem, limits, seed=3, options=options)
    with ThreadPoolExecutor(2) as threads:
        threaded = solve_partitioned(problem, limits, seed=3, options=options, executor=threads)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        elsewhere = solve_partitioned(problem, limits, seed=3, options=options, executor=processes)
    assert (alone.assignment == threaded.assignment).all()
    assert (alone.assignment == elsewhere.assignment).all()
    assert alone.objective == threaded.objective == elsewhere.objective
    assert (solve_partitioned(problem, limits, seed=4, options=options).assignment != alone.assignment).any()


def test_any_solver_solves_the_parts_and_one_that_fails_leaves_its_part_alone() -> None:
    asked = []

    def picky(problem, limits, *, seed):
        asked.append(len(problem.objects))
        if len(asked) == 2:
            raise ModelError("too hard for me")
        return solve_local(problem, limits, seed=seed)

    problem = crowd()
    options = Partitioning(parts=3, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(tries_max=20_000), options=options, solver=picky)
    assert len(asked) == 3
    assert sum(asked) == 600
    assert "part 1 stays as it is: too hard for me" in result.in_words()
    assert result.stopped_by is StoppedBy.WORK
    assert result.improved


def test_parts_that_are_solved_exactly_were_not_cut_short() -> None:
    problem = Problem(objects=60, containers=8, initial=np.arange(60) % 4)
    problem.add_dimension("cpu", 1.0 + np.arange(60) % 2, containers=np.full(8, 18.0))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(dimension="cpu"), normalise=False)
    options = Partitioning(parts=2, insist=True, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(time_s_max=100), options=options, solver=solve_mip)
    assert result.broken[1] == 0
    assert result.stopped_by is StoppedBy.DONE
    assert "this solver looks no further" in result.in_words()


def nowhere(objects: int = 400, containers: int = 20) -> Problem:
    """Everything is still in the last container, which is nowhere."""
    problem = Problem(objects=objects, containers=containers + 1, initial=np.full(objects, containers))
    problem.add_scope("real", np.append(np.arange(containers), -1))
    problem.add_dimension("cpu", 1.0 + np.arange(objects) % 3)
    problem.add_capacity("cpu", "real", np.full(containers, 60.0))
    problem.add_constraint(CapacitySpec(dimension="cpu", scope="real"))
    problem.add_goal(BalanceSpec(dimension="cpu", scope="real", formula=BalanceFormula.IDEAL), priority=1)
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=1e6, items={containers: 0})), priority=0)
    return problem


def test_a_container_that_holds_everything_is_in_every_part() -> None:
    problem = nowhere()
    assert large_containers(np.append(np.zeros(20), 1.0), 4).tolist() == [20]
    parts = plan_parts(compile_problem(problem), 4, how=Deal.BY_ATTRIBUTE, seed=0)
    assert all(20 in part.containers for part in parts)
    assert sorted(np.concatenate([part.objects for part in parts])) == list(range(400))
    assert [len(part.objects) for part in parts] == [100] * 4
    result = solve_partitioned(problem, SearchLimits(tries_max=200_000), options=Partitioning(parts=4, polish=0.0))
    assert result.broken == (0.0, 0.0)
    assert result.objective[1][0] == 0.0  # all 400 are placed


def test_a_pool_is_in_every_part_however_little_it_holds() -> None:
    """In the last container nothing counts: it is outside of the scope that all goals look at."""
    problem = Problem(objects=100, containers=11, initial=np.append(np.arange(95) % 10, np.full(5, 10)))
    problem.add_scope("real", np.append(np.arange(10), -1))
    problem.add_goal(BalanceSpec(dimension="count", scope="real"))
    problem.add_goal(MinimizeMovementSpec())
    parts = plan_parts(compile_problem(problem), 4, how=Deal.BY_ATTRIBUTE, seed=0)
    assert all(10 in part.containers for part in parts)
    assert all((problem.initial[part.objects] == 10).sum() <= 2 for part in parts)


def facilities(seed: int = 0) -> Problem:
    """Capacitated facility location: a user is close to one facility, and one that is used costs rent."""
    rng = np.random.default_rng(seed)
    users, sites = 400, 40
    far = np.full((sites, sites), 10.0)
    np.fill_diagonal(far, 1.0)
    problem = Problem(objects=users, containers=sites, initial=rng.integers(sites, size=users))
    near = rng.integers(sites, size=users)
    problem.add_dimension("distance", 1.0, by_item=("container", near, -far), signed=True)
    problem.add_dimension("demand", 1.0, containers=np.full(sites, 30.0))
    problem.add_constraint(CapacitySpec(dimension="demand"))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="distance"), normalise=False)
    problem.add_goal(MinimizeBinsSpec(costs=dict.fromkeys(range(sites), 5.0)), normalise=False)
    return problem


def test_facility_location_is_not_granular_and_is_solved_as_a_whole() -> None:
    problem = facilities()
    result = solve_partitioned(problem, SearchLimits(tries_max=40_000), options=Partitioning(parts=4))
    assert result.solver == "local"
    assert "not granular: of what objects gain where each is best off" in result.in_words()
    assert "solved as a whole" in result.in_words()
    insisted = solve_partitioned(
        problem, SearchLimits(tries_max=40_000), options=Partitioning(parts=4, insist=True, polish=0.0)
    )
    assert insisted.solver == "partitioned"
    assert insisted.objective[1][0] > result.objective[1][0] * 1.5


def test_a_facility_that_costs_rent_is_not_split() -> None:
    problem = facilities()
    with pytest.raises(
        ModelError, match="MinimizeBinsSpec: asks whether container 3 is used at all: it cannot be split"
    ):
        plan_parts(compile_problem(problem), 2, how=Deal.RANDOM, seed=0, split=[3])


def test_a_handful_is_not_a_crowd() -> None:
    result = solve_partitioned(small_problem(), SearchLimits(tries_max=1_000), options=Partitioning(parts=3))
    assert "not granular: 8 objects a part are too few" in result.in_words()


def small_problem() -> Problem:
    problem = small_world()
    problem.add_goal(BalanceSpec(dimension="cpu"))
    return problem


def test_scope_items_stay_together_where_asked() -> None:
    problem = crowd()
    for how in Deal:
        parts = plan_parts(compile_problem(problem), 3, how=how, seed=0, together="rack")
        for rack in range(6):
            assert sum(bool((part.containers // 4 == rack).any()) for part in parts) == 1


def test_options_are_checked() -> None:
    with pytest.raises(BadValues, match="parts = 0; expected 1 to"):
        Partitioning(parts=0)
    with pytest.raises(BadValues, match=r"polish = 1\.0; expected a share"):
        Partitioning(polish=1.0)


def test_when_the_time_is_up_parts_that_were_not_taken_stay_as_they_are() -> None:
    """Both answers at once are too many for the container that they share; each alone is not."""
    problem = Problem(objects=2, containers=3, initial=[0, 1])
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(default=1.0)))
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(items=[0.0, 0.0, 1.0])))
    parts = parts_of(problem.initial, np.array([0, 1, -1]), np.array([0, 1]), 2)
    answers = [np.searchsorted(part.containers, np.full(len(part.objects), 2)) for part in parts]
    program = compile_problem(problem)
    assert coalesce(program, parts, answers).assignment.tolist() == [2, 1]
    late = coalesce(program, parts, answers, lambda: True)
    assert late.assignment.tolist() == [0, 1]
    assert (late.whole, late.piecemeal, late.refused) == (0, 0, 2)
