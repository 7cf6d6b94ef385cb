"""Whether there is anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.elementwise import Elementwise

STEP_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Step(Elementwise):
    """1 where x is positive, else 0. What is within STEP_TOLERANCE of zero counts as zero: sums of floats seldom
    hit it.
    """

    CODE = 2

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """By definition."""
        return np.where(values > STEP_TOLERANCE, 1.0, 0.0)
