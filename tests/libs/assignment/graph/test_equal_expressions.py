"""Equal expressions share one cell, for all their users."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.graph.linear import Graph
from libs.assignment.language.errors import ModelError
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.no_regression import NoRegressionSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, small_world


def test_what_two_specs_ask_about_is_one_cell() -> None:
    problem = small_world()
    wanted = {"scope": "rack", "partition": "tag", "dimension": "rru"}
    graph = Graph(CONTAINERS, OBJECTS)
    (short,) = SingleGroupFailureBufferSpec(**wanted).excess(problem)
    cell = graph.add(short)
    cells = len(graph.cells)
    assert graph.add(SingleGroupFailureBufferSpec(**wanted).excess(problem)[0]) == cell
    graph.totals(LargestGroupSpec(**wanted).cost(problem))
    assert len(graph.cells) == cells  # the maximum exists already


def test_what_differs_in_any_number_is_not() -> None:
    problem = small_world()
    graph = Graph(CONTAINERS, OBJECTS)

    def cell(**changed: object) -> int:
        given = {"dimension": "cpu", "scope": "rack", "limit": Limit(default=3.0), "bound": Bound.MAX}
        return graph.add(CapacitySpec(**(given | changed)).excess(problem)[0])

    changes = ({}, {"limit": Limit(default=3.5)}, {"bound": Bound.MIN}, {"dimension": "count"}, {"scope": "container"})
    filtered = ({"filter": Filter(items=[0, 1])}, {"filter": Filter(items=[0, 2])})
    assert len({cell(**changed) for changed in (*changes, *filtered)}) == 7


def test_groups_that_overlap_cannot_be_sent_away() -> None:
    with pytest.raises(ModelError, match="overlap"):
        AvoidAssignmentsSpec(partition="tag", assignments=[(0, [1])]).excess(small_world())


def test_members_must_speak_of_the_same_items() -> None:
    problem = small_world()
    with pytest.raises(ModelError, match="does not apply to the items of 'rack'"):
        NoRegressionSpec(scope="rack", specs=[CapacitySpec(dimension="cpu")]).excess(problem)
    with pytest.raises(ModelError, match="can only be a goal"):
        NoRegressionSpec(specs=[MinimizeMovementSpec()]).excess(problem)


def test_nothing_has_regressed_at_the_start() -> None:
    problem = small_world()
    buffer = SingleGroupFailureBufferSpec(scope="rack", partition="tag", dimension="rru", limit=Limit(default=500))
    (worse,) = NoRegressionSpec(scope="rack", specs=[buffer]).excess(problem)
    assert (worse.value(problem.initial) == 0).all()
    emptied = np.full(OBJECTS, CONTAINERS - 1)
    assert (worse.value(emptied) > 0).any()
    (beyond,) = NoRegressionSpec(scope="rack", specs=[buffer], most=[500, 400, 0]).excess(problem)
    assert beyond.value(emptied)[:, 0].tolist() == [0, 100, 500]
