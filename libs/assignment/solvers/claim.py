"""What a solver may claim: its bounds and its reason of stopping, held against its answer.

The answer's values are computed from the definitions, and never taken from a model: a solver is exact to its
tolerances alone, and what these hide is neither proven nor claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from libs.assignment.graph.compiled import Compiled
from libs.assignment.solvers.limits import StoppedBy


def is_proven(compiled: Compiled, level: int, value: float, bound: float, gap: float) -> bool:
    """Whether a level's value is as good as a bound on it, up to a gap: a share of the value."""
    return value - bound <= gap * abs(value) + compiled.tolerance(level, value)


def claimed(
    compiled: Compiled, values: Sequence[float], bounds: Sequence[float], stopped_by: StoppedBy, gap: float
) -> tuple[tuple[float, ...], StoppedBy]:
    """The bounds (levels,) that the answer does not refute, and `optimal` only where it meets all of them.

    values  (levels,) of the answer. One below its bound shows that a solver was wrong: nothing is known of that level
    """
    kept = tuple(
        bound if bound <= value + compiled.tolerance(level, value) else -math.inf
        for level, (value, bound) in enumerate(zip(values, bounds, strict=False))
    )
    met = len(kept) == len(values) and all(
        is_proven(compiled, level, value, bound, gap)
        for level, (value, bound) in enumerate(zip(values, kept, strict=True))
    )
    return kept, StoppedBy.DONE if stopped_by is StoppedBy.OPTIMAL and not met else stopped_by
