"""Round up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.elementwise import Elementwise

CEIL_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Ceil(Elementwise):
    """The least integer not below x - CEIL_TOLERANCE. So three thirds make 1, despite rounding."""

    CODE = 3

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return the values rounded up, by definition."""
        return np.ceil(values - CEIL_TOLERANCE)
