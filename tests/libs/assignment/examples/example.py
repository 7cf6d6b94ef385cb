"""Define a use of a spec, and its cost by definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.spec import Spec


@dataclass(frozen=True)
class Example:
    spec: Spec
    cost: Callable[[Problem, np.ndarray], float]


def over(x: float) -> float:
    return max(0.0, x)
