"""Growing pain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.elementwise import Elementwise


@dataclass(frozen=True, slots=True, eq=False)
class Power(Elementwise):
    """max(0, x) ** exponent, for an exponent above 0: what is above zero, the more the worse where the exponent
    exceeds 1.
    """

    exponent: float = 2.0
    CODE = 5

    def __post_init__(self) -> None:
        """An exponent of 0 or less has no value at 0."""
        if not self.exponent > 0:
            raise BadValues(f"Power: an exponent of {self.exponent}; expected a number above 0")

    @property
    def parameter(self) -> float:
        """The exponent."""
        return self.exponent

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """By definition."""
        return np.maximum(values, 0.0) ** parameter
