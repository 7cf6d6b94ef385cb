"""Check the arithmetic of expressions, and the refusals of a spec of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from libs.assignment import (
    BadValues,
    Constant,
    Expression,
    Flavour,
    Max,
    ModelError,
    Over,
    PositivePart,
    Power,
    Problem,
    Spec,
    solve,
    utilisation,
)

CPU = np.array([1.0, 2.0, 4.0])
Make = Callable[[Expression], Any]


@dataclass(frozen=True, kw_only=True)
class Mine(Spec):
    """A spec that makes its cost and its excess from the CPU of each container, (2, 1)."""

    make: Make

    def cost(self, problem: Problem) -> Expression:
        return self.make(utilisation(problem, self.where, "container", "cpu"))

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        return self.make(utilisation(problem, self.where, "container", "cpu"))


def world() -> Problem:
    problem = Problem(objects=3, containers=2, initial=[0, 1, 1])
    problem.add_dimension("cpu", CPU)
    return problem


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda x: 2 * x, [2, 12]),
        (lambda x: np.float64(2) * x, [2, 12]),
        (lambda x: x / 4, [0.25, 1.5]),
        (lambda x: -x, [-1, -6]),
        (lambda x: 1 + x, [2, 7]),
        (lambda x: np.array([1, 2]) + x, [2, 8]),
        (lambda x: sum([x, x]), [2, 12]),
        (lambda x: Max(x, "ROWS"), [6]),
        (lambda x: Max(x, Over.COLUMNS), [1, 6]),
    ],
)
def test_arithmetic_is_that_of_numbers(make: Make, value: list[float]) -> None:
    problem = world()
    made = make(utilisation(problem, "", "container", "cpu"))
    assert made.value(problem.initial).ravel().tolist() == value


def test_a_word_stands_for_a_flavour() -> None:
    problem = world()
    assert utilisation(problem, "", "container", "cpu", flavour="NEW").flavour is Flavour.NEW  # type: ignore[arg-type]
    with pytest.raises(BadValues, match="flavour = 'DURING_AND_AFTER' is two utilisations"):
        utilisation(problem, "", "container", "cpu", flavour=Flavour.DURING_AND_AFTER)
    with pytest.raises(ModelError, match="utilisation: flavour: no Flavour named 'NOW'; did you mean 'NEW'"):
        utilisation(problem, "", "container", "cpu", flavour="NOW")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: x, r"a cost of shape \(2, 1\); expected \(1, 1\), as total\(\) gives"),
        (lambda x: 3.0, "3.0 is no expression; numbers become one by Constant.of"),
        (lambda x: PositivePart(3.0), "3.0 is no expression"),
        (lambda x: x * x, "an expression times .*; expected a finite number"),
        (lambda x: x * float("nan"), "an expression times nan; expected a finite number"),
        (lambda x: x / 0, "an expression divided by 0; expected a finite number other than 0"),
        (lambda x: x + float("inf"), r"a constant of an expression: values at \[0\] are not finite numbers"),
        (lambda x: x + "one", "a constant of an expression: expected numbers"),
        (lambda x: x + np.zeros((1, 1, 1)), r"a constant of an expression: an array of shape \(1, 1, 1\)"),
        (lambda x: Constant(np.array([np.nan]), np.zeros(1)), "a constant of an expression: values at"),
        (lambda x: x.scaled(rows=[1, 2, 3]), r"a map of an expression has shape \(3, 3\); expected \(3, 2\)"),
        (lambda x: x.scaled(rows=[1, np.nan]), "a map of an expression: values at"),
        (lambda x: x.mapped(rows=np.ones((1, 3))), r"a map of an expression has shape \(1, 3\); expected \(1, 2\)"),
        (lambda x: x.mapped(rows=np.ones(2)), r"a map of an expression: an array of shape \(2,\)"),
        (lambda x: Power(x, float("inf")), "Power: exponent = inf; expected a finite number above 0"),
        (lambda x: Power(x, "2"), "Power: exponent = '2'"),
        (lambda x: Max(x, n=0.5), "Max: n = 0.5; there are 2 values"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_spec(make: Make, message: str) -> None:
    with pytest.raises(BadValues, match=f"Mine 'own': .*{message}"):
        world().add_goal(Mine(name="own", make=make))


@pytest.mark.parametrize("made", [PositivePart(Constant.of(1.0)), None, 3.0])
def test_an_excess_is_a_tuple(made: Any) -> None:
    with pytest.raises(BadValues, match=r"Mine 'own': an excess .*; expected a tuple of expressions"):
        world().add_constraint(Mine(name="own", make=lambda x: made))
    with pytest.raises(BadValues, match="Mine 'own': None is no expression"):
        world().add_constraint(Mine(name="own", make=lambda x: (None,)))


def test_a_value_that_overflows_is_refused_at_the_solve() -> None:
    problem = world()
    problem.add_goal(Mine(name="own", make=lambda x: Power(x, 1000).total()))
    with pytest.raises(BadValues, match=r"Mine 'own': inf times the weight .* is not finite"):
        solve(problem)
