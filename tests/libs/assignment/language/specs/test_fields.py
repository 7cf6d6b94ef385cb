"""Check that a field with a value of the wrong form is refused by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from libs.assignment import (
    AvoidAssignmentsSpec,
    BadValues,
    CapacitySpec,
    Limit,
    LogicalOrSpec,
    MinimizeBinsSpec,
    MovesInProgressSpec,
    NoRegressionSpec,
    Problem,
    Spec,
)

FITS = CapacitySpec(dimension="count", limit=3)


def world() -> Problem:
    return Problem(objects=["a", "b"], containers=["x", "y"], initial=[0, 0])


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (MovesInProgressSpec, {"moves": None}, "MovesInProgressSpec: moves = None; expected a list"),
        (MovesInProgressSpec, {"moves": {"a": "y"}}, "moves = {'a': 'y'}; expected a list"),
        (MovesInProgressSpec, {"moves": [("a",)]}, r"moves: \('a',\); expected 2 values, in a tuple"),
        (MovesInProgressSpec, {"moves": ["ay"]}, "moves: 'ay'; expected 2 values, in a tuple"),
        (AvoidAssignmentsSpec, {"assignments": [("a", "x", "y")]}, "assignments: .*; expected 2 values, in a tuple"),
        (LogicalOrSpec, {"specs": FITS}, "LogicalOrSpec: specs = CapacitySpec.*; expected a list"),
        (LogicalOrSpec, {"specs": [FITS, "fits"]}, "LogicalOrSpec: specs: 'fits'; expected Spec"),
        (NoRegressionSpec, {"specs": [FITS], "weights": 2.0}, "weights = 2.0; expected a list"),
        (MinimizeBinsSpec, {"costs": [1, 2]}, r"MinimizeBinsSpec: costs = \[1, 2\]; expected a mapping"),
        (Limit, {"pairs": [1]}, r"Limit: pairs = \[1\]; expected a mapping"),
    ],
)
def test_a_value_of_the_wrong_form_is_refused(kind: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadValues, match=message):
        kind(**fields)


@pytest.mark.parametrize(
    "moves", [[("a", "y")], [["a", 1]], (("a", "y"),), np.array([[0, 1]]), (move for move in [("a", "y")])]
)
def test_pairs_are_given_in_any_list(moves: Any) -> None:
    problem = world()
    problem.add_constraint(MovesInProgressSpec(moves=moves))
    assert problem.constraints[0].excess[0].value(problem.initial) == 1.0


def test_a_single_item_stands_for_a_list() -> None:
    problem = world()
    problem.add_constraint(AvoidAssignmentsSpec(assignments=[("a", 0), ("b", "y")]))  # type: ignore[list-item]
    assert problem.constraints[0].excess[0].value(problem.initial).ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (CapacitySpec(dimension="count", limit={"x": 1, 0: 2}), "CapacitySpec, limit: x is given twice"),
        (MinimizeBinsSpec(costs={"x": 1, 0: 2}), "MinimizeBinsSpec, costs: x is given twice"),
    ],
)
def test_an_item_is_given_once(made: Spec, message: str) -> None:
    with pytest.raises(BadValues, match=message):
        world().add_goal(made)
