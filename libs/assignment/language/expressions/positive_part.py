"""Take the part above zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.elementwise import Elementwise


@dataclass(frozen=True, slots=True, eq=False)
class PositivePart(Elementwise):
    """max(0, x): the amount of an excess."""

    CODE = 1

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return the positive parts, by definition."""
        return np.maximum(values, 0.0)
