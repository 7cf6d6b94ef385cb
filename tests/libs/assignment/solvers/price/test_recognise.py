"""Price-and-round reads no falsehood from cells: check tiny problems against all assignments."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.spec import Spec
from libs.assignment.language.specs.utilisation import utilisation
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.price.recognise import read_market
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.result import Outcome
from libs.assignment.solvers.settings import SearchLimits
from tests.libs.assignment.markets import placement

FEW = SearchLimits(tries_max=2_000)


def market(objects: int, containers: int, initial: list[int], room: list[float] | None = None) -> Problem:
    """Return equal objects; the last container is for unplaced ones."""
    problem = Problem(objects=objects, containers=containers, initial=initial)
    placed = Filter(but=[containers - 1])
    if room is not None:
        problem.add_dimension("cpu", 1.0, containers=room)
        problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(filter=placed), normalise=False)
    return problem


def avoid(who: int, where: list[int], flavour: Flavour) -> AvoidAssignmentsSpec:
    return AvoidAssignmentsSpec(assignments=[(who, where)], flavour=flavour)


def avoiding(flavour: Flavour) -> Problem:
    problem = market(2, 3, [0, 2], [2.0, 1.0, 0.0])
    problem.add_constraint(avoid(0, [0], flavour))
    return problem


def closed(items: list[int], initial: list[int], room: list[float] | None = None) -> Problem:
    problem = market(len(initial), 3, initial, room)
    problem.add_constraint(NonAcceptingSpec(items=items))
    return problem


def rack_closed() -> Problem:
    """Return a problem in which the only valued container accepts objects from its own rack."""
    problem = Problem(objects=1, containers=2, initial=[1])
    problem.add_scope("rack", [0, 0], 1)
    problem.add_constraint(NonAcceptingSpec(items=[0], scope="rack"))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[1])), normalise=False)
    return problem


def large_and_small() -> Problem:
    problem = Problem(objects=4, containers=3, initial=[0, 2, 2, 2])
    problem.add_dimension("cpu", [4.0, 4.0, 1.0, 1.0], containers=[4.0, 4.0, 0.0])
    problem.add_dimension("worth", [3.0, 3.0, 2.0, 2.0])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=Filter(but=[2])))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[2]), dimension="worth"), normalise=False)
    return problem


def with_other_goals() -> Problem:
    problem = market(4, 3, [0, 0, 0, 2], [2.0, 2.0, 0.0])
    problem.add_goal(BalanceSpec(dimension="cpu"), weight=0.1)
    problem.add_goal(MinimizeMovementSpec(), priority=1)
    problem.add_constraint(avoid(1, [0], Flavour.AFTER), hard=False)
    return problem


def pinned_over_the_limit() -> Problem:
    problem = market(4, 3, [0, 0, 0, 2], [2.0, 1.0, 0.0])
    problem.add_constraint(AvoidMovingSpec(objects=[0]))
    return problem


TINY: dict[str, Callable[[], Problem]] = {
    **{f"avoid {flavour}": (lambda flavour=flavour: avoiding(flavour)) for flavour in Flavour},
    "capacity while moving": lambda: _moving(Flavour.DURING_AND_AFTER),
    "capacity of what stays": lambda: _moving(Flavour.STAYED),
    "closed with residents": lambda: closed([0], [0, 2], [1.0, 2.0, 0.0]),
    "all closed": lambda: closed([0, 1], [0, 2]),
    "closed over its limit": lambda: closed([0], [0, 0, 0, 2], [1.0, 3.0, 0.0]),
    "none may be put out": lambda: closed([2], [0, 0, 2], [1.0, 1.0, 0.0]),
    "a closed rack": rack_closed,
    "large and small": large_and_small,
    "other goals": with_other_goals,
    "pinned over the limit": pinned_over_the_limit,
}


def _moving(flavour: Flavour) -> Problem:
    problem = market(3, 3, [0, 0, 2])
    problem.add_dimension("cpu", 1.0, containers=[1.0, 2.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=Filter(but=[2]), flavour=flavour))
    return problem


def levels(problem: Problem, assignment: np.ndarray) -> list[float]:
    """Return the excess, and each priority, by definition."""
    broken = sum(c.weight * float(part.value(assignment).sum()) for c in problem.constraints for part in c.excess)
    found = dict.fromkeys(sorted({goal.priority for goal in problem.goals}), 0.0)
    for goal in problem.goals:
        found[goal.priority] += goal.weight / goal.scale * float(goal.cost.value(assignment)[0, 0])
    return [broken, *found.values()]


def legal(problem: Problem, assignment: np.ndarray) -> bool:
    """Return whether no element of a hard constraint is larger than at the start."""
    parts = [part for c in problem.constraints if c.hard for part in c.excess]
    return all((part.value(assignment) <= part.value(problem.initial) + 1e-9).all() for part in parts)


def check(problem: Problem, result: Outcome) -> list[float]:
    """Check that no claim of the result is false; return the best possible levels."""
    everything = itertools.product(range(len(problem.containers)), repeat=len(problem.objects))
    table = np.array([levels(problem, np.array(a)) for a in everything if legal(problem, np.array(a))])
    best = []
    for level in range(table.shape[1]):
        best.append(float(table[:, level].min()))
        table = table[table[:, level] <= best[-1] + 1e-9]
    now, first = levels(problem, result.assignment), levels(problem, problem.initial)
    assert legal(problem, result.assignment)
    assert [result.broken[1], *result.objective[1]] == pytest.approx(now)
    assert now <= [one + 1e-9 for one in first]
    for level, (bound, least) in enumerate(zip(result.bound, best, strict=True)):
        assert bound <= least + 1e-9
        if now[level] > least + 1e-9:
            assert result.stopped_by is not StoppedBy.OPTIMAL
            break  # the best value of lower levels depends on this one
    return best


@pytest.mark.parametrize("name", TINY)
def test_nothing_false_is_said_of_tiny_markets(name: str) -> None:
    problem = TINY[name]()
    check(problem, solve_price(problem, FEW))


class OwnCapacity(Spec):
    """CapacitySpec in a caller's own words."""

    name = ""

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        cpu = utilisation(problem, "own", "container", "r0")
        limit = problem.dimensions["r0"].capacities["container"].copy()
        limit[-1] = 1e9
        return (PositivePart(cpu - limit),)

    @property
    def where(self) -> str:
        return "own"


def test_a_spec_of_equal_mathematics_is_treated_equally() -> None:
    built_in, own = placement(3, objects=200, containers=8), placement(3, objects=200, containers=8)
    own.constraints = [one for one in own.constraints if one.spec.dimension != "r0"]  # type: ignore[attr-defined]
    own.add_constraint(OwnCapacity())
    own.constraints.reverse()  # r0 first, as before
    first, second = solve_price(built_in, FEW), solve_price(own, FEW)
    assert second.bound == pytest.approx(first.bound)
    assert second.objective[1] == pytest.approx(first.objective[1])


def test_what_is_left_out_is_said_and_weighed() -> None:
    plain, more = placement(2, objects=200, containers=8), placement(2, objects=200, containers=8)
    more.add_goal(BalanceSpec(dimension="r0", filter=Filter(but=[8])), weight=1e-6, normalise=False)
    alone, both = solve_price(plain, FEW), solve_price(more, FEW)
    assert any("prices leave out BalanceSpec" in note for note in both.notes)
    assert both.prices is not None
    assert both.objective[1][0] <= alone.objective[1][0] * 0.997
    assert both.bound[1] <= both.objective[1][0]
    assert both.bound[1] == pytest.approx(alone.bound[1], rel=1e-3)


def test_containers_that_all_differ_are_grouped_by_what_they_hold() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(objects=400, containers=301, initial=np.full(400, 300))
    problem.add_dimension("r", rng.uniform(0.5, 2.0, 400), containers=np.append(rng.uniform(1.0, 3.0, 300), 0.0))
    problem.add_constraint(CapacitySpec(dimension="r", filter=Filter(but=[300])))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[300])), normalise=False)
    strict = read_market(Compiled.of(problem)).strict
    assert strict.market.shapes <= 256
    assert strict.exact
