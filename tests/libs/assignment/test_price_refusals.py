"""What price-and-round cannot do it refuses by the name of the spec."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from libs.assignment.errors import BadValues, ModelError
from libs.assignment.flavour import Flavour
from libs.assignment.prices.settings import PriceSettings
from libs.assignment.problem import Problem
from libs.assignment.solvers.price import solve_price, why_not
from libs.assignment.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.specs.balance import BalanceSpec
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.filter import Filter
from libs.assignment.specs.group_count import CountBound, GroupCountSpec, RelativeTo
from libs.assignment.specs.limit import Bound, Limit, LimitType
from libs.assignment.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.specs.to_free import ToFreeSpec
from tests.libs.assignment.markets import placement

PLACED = Filter(but=[12])


def count(**given: object) -> Callable[[Problem], None]:
    return lambda p: p.add_constraint(GroupCountSpec(name="x", partition="job", filter=PLACED, **given))


def capacity(**given: object) -> Callable[[Problem], None]:
    return lambda p: p.add_constraint(CapacitySpec(name="x", **{"dimension": "r0", "filter": PLACED, **given}))


REFUSED: dict[str, tuple[Callable[[Problem], None], str]] = {
    "another goal": (lambda p: p.add_goal(BalanceSpec(dimension="r0")), "BalanceSpec: price-and-round takes Maximize"),
    "two priorities": (
        lambda p: p.add_goal(MaximizeAllocationSpec(name="later", filter=PLACED), priority=1),
        "MaximizeAllocationSpec 'later': price-and-round takes goals of one priority",
    ),
    "another constraint": (lambda p: p.add_constraint(ToFreeSpec(items=[0])), "ToFreeSpec: price-and-round takes Cap"),
    "a soft one": (
        lambda p: p.add_constraint(CapacitySpec(dimension="r0", filter=PLACED), hard=False),
        "CapacitySpec: price-and-round takes hard",
    ),
    "a least amount": (capacity(bound=Bound.MIN), "CapacitySpec 'x': bound = 'MIN'"),
    "what was there before": (capacity(flavour=Flavour.ANY), "CapacitySpec 'x': flavour = 'ANY'"),
    "capacity of racks": (capacity(scope="rack", filter=Filter()), "CapacitySpec 'x': scope = 'rack'"),
    "a value by place": (capacity(dimension="by_rack"), "CapacitySpec 'x': dimension = 'by_rack'"),
    "a negative value": (capacity(dimension="signed"), "CapacitySpec 'x': dimension = 'signed'"),
    "limits on what is not placed": (capacity(filter=Filter()), r"CapacitySpec 'x': filter .*container 12"),
    "a least number": (count(bound=CountBound.MIN), "GroupCountSpec 'x': bound = 'MIN'"),
    "new ones": (count(flavour=Flavour.NEW), "GroupCountSpec 'x': flavour = 'NEW'"),
    "limits by pair": (count(limit=Limit(pairs={(0, 0): 0.0})), "GroupCountSpec 'x': limit"),
    "limits by item": (count(limit=Limit(items=np.arange(13.0))), "GroupCountSpec 'x': limit"),
    "shares of an item": (
        count(limit=Limit(type=LimitType.RELATIVE, default=0.5), relative_to=RelativeTo.SCOPE_ITEM_UTIL),
        "GroupCountSpec 'x': limit",
    ),
    "signed amounts": (count(dimension="signed"), "GroupCountSpec 'x': dimension = 'signed'"),
    "groups outside": (
        lambda p: p.add_constraint(GroupCountSpec(partition="job", name="x")),
        "GroupCountSpec 'x': filter",
    ),
    "nowhere to be when not placed": (
        lambda p: p.add_constraint(AvoidAssignmentsSpec(assignments=[(0, [12])])),
        "AvoidAssignmentsSpec: assignments",
    ),
    "everything counts": (lambda p: p.add_goal(MaximizeAllocationSpec()), "needs one for what is not placed"),
}


def world() -> Problem:
    problem = placement(0, jobs=True)
    problem.add_scope("rack", np.append(np.arange(12) % 3, -1))
    classes = np.zeros(400, dtype=int)
    problem.add_dimension("by_rack", 1.0, by_item=("rack", classes, [[1.0, 2.0, 3.0]]), containers=np.ones(13))
    problem.add_dimension("signed", np.full(400, -1.0), signed=True, containers=np.ones(13))
    return problem


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    add, message = REFUSED[case]
    problem = world()
    assert why_not(problem) is None
    add(problem)
    with pytest.raises(ModelError, match=message):
        solve_price(problem)
    assert why_not(problem) is not None


def test_without_a_goal_that_places_there_is_nothing_to_do() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    assert "needs a MaximizeAllocationSpec" in str(why_not(problem))
    problem.add_dimension("liking", 1.0, by_item=("container", [0, 0], [[0.0, 1.0]]))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="liking"))
    assert "needs a MaximizeAllocationSpec" in str(why_not(problem))


def test_containers_that_are_all_different_are_no_shapes() -> None:
    problem = Problem(objects=2, containers=301, initial=[300, 300])
    problem.add_dimension("r", 1.0, containers=np.append(np.arange(300) / 300.0, 0.0))
    problem.add_constraint(CapacitySpec(dimension="r", filter=Filter(but=[300])))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[300])))
    assert "300 shapes" in str(why_not(problem))


@pytest.mark.parametrize("given", [{"rent": 2.0}, {"tries": 0}, {"rounds": -1}])
def test_settings_out_of_range(given: dict[str, float]) -> None:
    with pytest.raises(BadValues, match=next(iter(given))):
        PriceSettings(**given)
