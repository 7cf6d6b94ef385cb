"""Define a spec as a user would: functions of utilisation in combinations that no spec of the library has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.ceil import Ceil
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.log import Log
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.spec import Spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from benchmarks.fuzz.world import World
    from libs.assignment.language.problem import Problem

SHAPES = ("line", "positive", "step", "ceil", "log", "root", "square", "largest", "second", "range", "stairs", "kink")
"""Functions of x = a * util + b, element by element unless a maximum is taken."""


@dataclass(frozen=True, kw_only=True)
class OwnSpec(Spec):
    """The spec sign * f(a * util + b). As a constraint, its excess is the part above c."""

    shape: str
    dimension: str
    scope: str = "container"
    partition: str | None = None
    flavour: Flavour = Flavour.AFTER
    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    sign: float = 1.0

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (rows, columns) of the function."""
        return (PositivePart(self._value(problem) * self.sign - self.c),)

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        return self._value(problem).total() * self.sign

    def _value(self, problem: Problem) -> Expression:
        util = utilisation(problem, self.where, self.scope, self.dimension, self.partition, self.flavour)
        x = util * self.a + self.b
        if self.shape == "line":
            return x
        if self.shape == "largest":
            return Max(x, Over.ROWS)
        if self.shape == "second":
            return Max(x, n=1)
        if self.shape == "range":
            return Max(x) + Max(x * -1.0)
        if self.shape == "stairs":
            return Ceil(Step(x) + PositivePart(x))
        if self.shape == "kink":
            return PositivePart(Step(x) * 2.0 - PositivePart(x))
        return {
            "positive": PositivePart(x),
            "step": Step(x),
            "ceil": Ceil(x),
            "log": Log(x),
            "root": Power(x, 0.5),
            "square": Power(x, 2.0),
        }[self.shape]


def own(world: World, s: OwnSpec) -> tuple[Floats, Floats]:
    """Return the excess, (A, elements), and the cost, (A,), from the text on expressions in README.md."""
    x = s.a * world.util(s.scope, s.dimension, s.partition, s.flavour) + s.b
    flat = x.reshape(len(x), -1)
    step, part = np.where(x > 1e-6, 1.0, 0.0), np.maximum(x, 0.0)
    if s.shape == "largest":
        value = x.max(axis=1)
    elif s.shape == "second":
        value = np.sort(flat, axis=1)[:, [-2]]
    elif s.shape == "range":
        value = (flat.max(axis=1) - flat.min(axis=1))[:, None]
    else:
        value = {
            "line": x,
            "positive": part,
            "step": step,
            "ceil": np.ceil(x - 1e-6),
            "log": np.log1p(part),
            "root": part**0.5,
            "square": part**2,
            "stairs": np.ceil(step + part - 1e-6),
            "kink": np.maximum(2.0 * step - part, 0.0),
        }[s.shape]
    value = s.sign * value.reshape(len(x), -1)
    return np.maximum(value - s.c, 0.0), value.sum(axis=1)
