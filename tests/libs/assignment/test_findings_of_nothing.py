"""Repeat each finding of the fuzzer about no objects, groups, items or elements, on a problem for solving by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz.own import OwnSpec
from libs.assignment import Limits, solve
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.group_dependency import GroupDependencySpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.logical_and import LogicalAndSpec
from libs.assignment.language.specs.logical_or import LogicalOrSpec
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.language.specs.to_free import ToFreeSpec
from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec
from libs.assignment.report.explain.explainer import Explainer
from libs.assignment.solvers.auto import solve_auto
from libs.assignment.solvers.known_limits import known_limits
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.registry import SOLVERS
from libs.assignment.solvers.settings import Partitioning, SearchLimits

FEW = SearchLimits(tries_max=200)
IN_TWO = Partitioning(parts=2, insist=True)


@pytest.mark.parametrize("solve", [solve_local, solve_partitioned])
def test_racks_without_machines_beside_as_many_rows_of_another_kind(solve) -> None:
    problem = Problem(objects=1, containers=1, initial=[0])
    problem.add_scope("rack", [0], 2)
    problem.add_dimension("memory", [1.0], containers=[7.0])
    problem.add_goal(UtilIncreaseCostSpec(dimension="count", scope="rack"), normalise=False)
    spill = {1: {0: 0.3}}
    problem.add_constraint(DrainCapacitySpec(dimension="memory", scope="rack", spill=spill), hard=False)
    result = solve(problem, FEW)
    assert result.objective == ((1.0,), (1.0,))
    assert result.stopped_by is StoppedBy.OPTIMAL


def test_constraints_without_elements_in_parts() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    problem.add_scope("rack", [0, 0], 1)
    problem.add_overlapping_partition("team", np.array([], int), np.array([], int), 3)
    spec = SingleGroupFailureBufferSpec(partition="team", scope="rack", limit=Limit(), filter=Filter(but=[0]))
    problem.add_constraint(spec)
    assert solve_partitioned(problem, FEW, options=IN_TWO).broken == (0.0, 0.0)


def test_capacities_of_more_racks_than_there_are_machines_in_parts() -> None:
    problem = Problem(objects=1, containers=3, initial=[0])
    problem.add_scope("rack", [-1, 1, 1], 4)
    problem.add_dimension("memory", [1.0])
    problem.add_capacity("memory", "rack", [2.0, 3.0, 1.0, 1.0])
    problem.add_goal(BalanceSpec(dimension="memory", scope="rack"), normalise=False)
    assert solve_partitioned(problem, FEW, options=IN_TWO).objective[1] == (0.0,)


def test_nothing_is_asked_by_no_pairs_no_groups_and_no_capacities() -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    problem.add_overlapping_partition("team", np.array([], int), np.array([], int), 1)
    problem.add_overlapping_partition("nobody", np.array([], int), np.array([], int), 0)
    problem.add_dimension("cpu", [1.0], containers=[0.0, 0.0])
    problem.add_goal(GroupDependencySpec(partition="team", pairs=[]))
    problem.add_goal(GroupCountSpec(partition="nobody"))
    problem.add_constraint(GroupCountSpec(partition="nobody"))
    problem.add_goal(UtilIncreaseCostSpec(dimension="cpu"))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.SQUARES))
    assert solve_mip(problem).objective == ((0.0,), (0.0,))
    assert Compiled.of(problem).least == (0.0, 0.0)


def test_what_items_left_out_would_be_short_of_is_no_part_of_the_scale() -> None:
    problem = Problem(objects=1, containers=2, initial=[1])
    problem.add_partition("team", [0], 3)
    problem.add_goal(GroupDiversitySpec(partition="team", filter=Filter(but=[1])))
    problem.add_goal(GroupDiversitySpec(partition="team", limit=Limit(default=-1.0), bound=Bound.MAX), priority=1)
    assert [goal.scale for goal in problem.goals] == [1.0, 2.0]


@pytest.mark.parametrize(("objects", "containers"), [(0, 2), (1, 1)])
def test_where_there_is_one_assignment_there_is_nothing_to_search(objects, containers) -> None:
    problem = Problem(objects=objects, containers=containers, initial=np.zeros(objects, int))
    problem.add_goal(OwnSpec(shape="line", dimension="count", b=1.0), normalise=False)
    result = solve_local(problem, FEW)
    assert (result.tries, result.stopped_by) == (0, StoppedBy.OPTIMAL)


def test_a_move_is_explained_beside_constraints_without_elements() -> None:
    problem = Problem(objects=2, containers=2, initial=[1, 1])
    problem.add_dimension("cpu", [0.0, 0.0], containers=[0.0, 0.0])
    problem.add_constraint(DrainCapacitySpec(dimension="cpu", spill={}))
    problem.add_constraint(AvoidAssignmentsSpec(assignments=[(0, [0])]))
    assert not Explainer(problem).move(0, 0).allowed


def test_what_names_nothing_adds_nothing_to_the_scale_of_all_together() -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    nothing = [AvoidAssignmentsSpec(assignments=[]), MovesInProgressSpec(moves=[]), ToFreeSpec(items=[1])]
    problem.add_goal(LogicalAndSpec(specs=[*nothing, CapacitySpec(dimension="count", limit=Limit())]))
    problem.add_goal(LogicalAndSpec(specs=nothing))
    assert [goal.scale for goal in problem.goals] == [1.0, 1.0]


@pytest.mark.parametrize("solve", [solve_price, solve_auto])
def test_a_limit_on_no_container_at_all_takes_nothing_from_a_market(solve) -> None:
    problem = Problem(objects=2, containers=2, initial=[1, 1])
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(), filter=Filter(items=[])))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[1])), normalise=False)
    assert solve(problem).objective[1] == (-2.0,)


def test_a_partition_without_groups_limits_nothing() -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    problem.add_overlapping_partition("team", np.array([], int), np.array([], int), 0)
    problem.add_constraint(GroupCountSpec(partition="team"))
    for name in SOLVERS:
        if name != "price":  # nothing is worth anything
            limits = Limits(tries_max=600) if "tries_max" in known_limits(name) else None
            assert solve(problem, limits, solver=name).broken == (0.0, 0.0)


def nothing_chosen() -> Problem:
    """Return specs over no scope items, and one over all."""
    problem = Problem(objects=1, containers=3, initial=np.array([1]))
    problem.add_partition("team", [0])
    problem.add_dimension("cpu", [1.3], containers=[3.0, 3.0, 3.0])
    none = Filter(but=[2, 0, 1])
    problem.add_goal(GroupDiversitySpec(partition="team", limit=Limit(default=0.0), filter=none))
    problem.add_goal(LargestGroupSpec(partition="team", dimension="cpu", filter=none))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL), normalise=False)
    return problem


def test_a_cell_without_elements_reads_nothing() -> None:
    """Kernels do not check indices: a move pushed into such a cell wrote beyond the end."""
    cells = Compiled.of(nothing_chosen()).graph.cells
    empty = [cell for cell in cells if 0 in cell.shape]
    assert empty
    assert not any(cell.leaves or cell.links for cell in empty)


def test_a_link_whose_columns_all_cancel_keeps_its_error() -> None:
    problem = Problem(objects=1, containers=1, initial=[0])
    problem.add_overlapping_partition("job", [0], [0], 3)
    problem.add_dimension("cpu", [1.0], containers=[0.0])
    root = OwnSpec(shape="root", dimension="cpu", flavour=Flavour.OLD)
    either = LogicalOrSpec(specs=[GroupDependencySpec(partition="job", pairs=[]), root])
    problem.add_constraint(LogicalOrSpec(specs=[either]))
    for solver in ("mip", "portfolio", "auto"):
        assert solve(problem, solver=solver).broken == (0.0, 0.0)


def test_prices_of_no_objects() -> None:
    problem = Problem(objects=0, containers=2, initial=np.array([], int))
    problem.add_dimension("cpu", [], containers=[1.0, 6.0])
    problem.add_goal(MaximizeAllocationSpec(), normalise=False)
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL), normalise=False)
    assert solve(problem, solver="price").moved == 0


def test_a_scope_without_items_likes_nobody() -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    problem.add_scope("rack", [-1, -1], 0)
    problem.add_dimension("like", [1.0], by_item=("rack", [1], np.zeros((2, 0))))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="like"), normalise=False)
    for solver in ("mip", "local", "partitioned"):
        result = solve(problem, Limits(tries_max=600) if solver == "local" else None, solver=solver)
        assert (result.objective[1], result.bound) == ((0.0,), (0.0, 0.0))
