"""Raise to a power, so that a large excess costs more than several small ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import expression_of
from libs.assignment.language.specs.fields import is_finite


@dataclass(frozen=True, slots=True, eq=False)
class Power(Elementwise):
    """max(0, x) ** exponent, for an exponent above 0. With an exponent above 1 the cost grows faster than x."""

    exponent: float = 2.0
    CODE = 5

    def __post_init__(self) -> None:
        """Raise BadValues for an exponent of 0 or less, because 0 has no such power."""
        expression_of(self.child)
        if not (is_finite(self.exponent) and self.exponent > 0):
            raise BadValues(f"Power: exponent = {self.exponent!r}; expected a finite number above 0")

    @property
    def parameter(self) -> float:
        """Return the exponent."""
        return self.exponent

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return the powers, by definition."""
        return np.maximum(values, 0.0) ** parameter
