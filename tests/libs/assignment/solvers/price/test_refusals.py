"""Results name the specs that prices leave out, and a problem that is no market is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.errors import BadValues, ModelError
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.to_free import ToFreeSpec
from libs.assignment.solvers.price.recognise import read_market
from libs.assignment.solvers.price.settings import PriceSettings
from libs.assignment.solvers.price.solver import solve_price
from tests.libs.assignment.markets import placement

PLACED = Filter(but=[12])


def count(**given: object) -> Callable[[Problem], None]:
    return lambda p: p.add_constraint(GroupCountSpec(name="x", partition="job", filter=PLACED, **given))


def capacity(**given: object) -> Callable[[Problem], None]:
    return lambda p: p.add_constraint(CapacitySpec(name="x", **{"dimension": "r0", "filter": PLACED, **given}))


LEFT_OUT: dict[str, tuple[Callable[[Problem], None], str]] = {
    "another goal": (lambda p: p.add_goal(BalanceSpec(dimension="r0")), "BalanceSpec"),
    "two priorities": (
        lambda p: p.add_goal(MaximizeAllocationSpec(name="later", filter=PLACED), priority=1),
        "MaximizeAllocationSpec 'later'",
    ),
    "a soft one": (lambda p: p.add_constraint(ToFreeSpec(items=[0]), hard=False), "ToFreeSpec"),
    "a least amount": (capacity(bound=Bound.MIN), "CapacitySpec 'x'"),
    "a negative value": (capacity(dimension="signed"), "CapacitySpec 'x'"),
    "a value by place": (capacity(dimension="by_rack"), "CapacitySpec 'x'"),
    "a least number": (count(bound=CountBound.MIN), "GroupCountSpec 'x'"),
    "limits by pair": (count(limit=Limit(pairs={(0, 0): 0.0})), "GroupCountSpec 'x'"),
    "limits by item": (count(limit=Limit(items=np.arange(13.0))), "GroupCountSpec 'x'"),
}
READ: dict[str, Callable[[Problem], None]] = {
    "capacity of racks": capacity(scope="rack", filter=Filter()),
    "what is there while moving, where nothing was": capacity(flavour=Flavour.ANY),
    "new ones, where nothing was": count(flavour=Flavour.NEW),
}


def world() -> Problem:
    problem = placement(0, jobs=True)
    problem.add_scope("rack", np.append(np.arange(12) % 3, -1))
    classes = np.zeros(400, dtype=int)
    problem.add_dimension("by_rack", 1.0, by_item=("rack", classes, [[1.0, 2.0, 3.0]]), containers=np.ones(13))
    problem.add_dimension("signed", np.full(400, -1.0), signed=True, containers=np.ones(13))
    return problem


@pytest.mark.parametrize("case", LEFT_OUT)
def test_left_out_by_name(case: str) -> None:
    add, name = LEFT_OUT[case]
    problem = world()
    add(problem)
    assert read_market(Compiled.of(problem)).left_out == (name,)


@pytest.mark.parametrize("case", READ)
def test_read_in_full(case: str) -> None:
    problem = world()
    READ[case](problem)
    reading = read_market(Compiled.of(problem))
    assert reading.left_out == ()
    assert reading.strict.exact


@pytest.mark.parametrize(
    "spec", [CapacitySpec(dimension="r0"), AvoidAssignmentsSpec(assignments=[(0, [12])])], ids=["limited", "avoided"]
)
def test_what_is_not_placed_needs_a_place(spec: CapacitySpec | AvoidAssignmentsSpec) -> None:
    problem = world()
    problem.add_constraint(spec)
    with pytest.raises(ModelError, match="needs a container for unplaced objects"):
        solve_price(problem)


def test_without_a_goal_that_places_there_is_nothing_to_do() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    with pytest.raises(ModelError, match="needs a goal that rewards placed objects"):
        solve_price(problem)
    problem.add_dimension("liking", 1.0, by_item=("container", [0, 0], [[0.0, 1.0]]))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="liking"))
    with pytest.raises(ModelError, match="needs a goal that rewards placed objects"):
        solve_price(problem)


@pytest.mark.parametrize("given", [{"rent": 2.0}, {"tries": 0}, {"rounds": -1}])
def test_settings_out_of_range(given: dict[str, float]) -> None:
    with pytest.raises(BadValues, match=next(iter(given))):
        PriceSettings(**given)
