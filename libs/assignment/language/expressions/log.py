"""Take the logarithm, for diminishing returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.elementwise import Elementwise


@dataclass(frozen=True, slots=True, eq=False)
class Log(Elementwise):
    """ln(1 + max(0, x)): defined for all x, 0 at 0, concave above."""

    CODE = 4

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return the logarithms, by definition."""
        return np.log1p(np.maximum(values, 0.0))
