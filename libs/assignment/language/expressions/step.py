"""Test for a positive amount."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.elementwise import Elementwise

STEP_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Step(Elementwise):
    """1 if x is positive, else 0. Values up to STEP_TOLERANCE count as zero, because sums of floats seldom give 0."""

    CODE = 2

    @staticmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return the steps, by definition."""
        return np.where(values > STEP_TOLERANCE, 1.0, 0.0)
