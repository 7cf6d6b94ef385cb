"""Solvers by name, and the one that chooses."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.errors import UnknownName
from libs.assignment.problem import Problem
from libs.assignment.solvers import auto
from libs.assignment.solvers.limits import SearchLimits
from libs.assignment.solvers.registry import SOLVERS, solver_named
from libs.assignment.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.specs.minimize_movement import MinimizeMovementSpec


def crowd(objects: int = 200, containers: int = 10) -> Problem:
    rng = np.random.default_rng(0)
    problem = Problem(objects=objects, containers=containers, initial=rng.integers(containers // 2, size=objects))
    problem.add_dimension("cpu", rng.random(objects))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    problem.add_goal(MinimizeMovementSpec(), weight=0.001)
    return problem


def test_names_that_do_not_exist_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no solver named 'partitoned'; did you mean 'partitioned'"):
        solver_named("partitoned")


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_all_are_called_alike(name: str) -> None:
    problem = crowd()
    result = solver_named(name)(problem, SearchLimits(tries_max=20_000), seed=1)
    assert result.assignment.shape == (200,)
    assert result.objective[1] < result.objective[0]
    assert name == "auto" or result.solver == name


def test_auto_says_what_it_chose_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    small = solver_named("auto")(crowd(), SearchLimits(tries_max=10_000))
    assert "auto chose local: 200 objects are no more than 250000" in small.in_words()
    monkeypatch.setattr(auto, "PART_OBJECTS", 90)
    large = solver_named("auto")(crowd(), SearchLimits(tries_max=10_000))
    assert large.solver == "partitioned"
    assert "auto chose partitioned: 200 objects are more than 90" in large.in_words()
    assert "3 parts" in large.in_words()
