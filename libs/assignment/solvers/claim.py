"""Check a solver's claims, its bounds and its reason of stopping, against its answer.

The answer's values come from the definitions, never from a model. A solver is exact only up to its tolerances. Claims
within the tolerances are not proven and therefore dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from libs.assignment.graph.compiled import Compiled
from libs.assignment.solvers.limits import StoppedBy


def is_proven(compiled: Compiled, level: int, value: float, bound: float, gap: float) -> bool:
    """Return whether the value of `level` equals its lower bound up to `gap`, a share of the value, and rounding."""
    return value - bound <= gap * abs(value) + compiled.tolerance(level, value)


def claimed(
    compiled: Compiled, values: Sequence[float], bounds: Sequence[float], stopped_by: StoppedBy, gap: float
) -> tuple[tuple[float, ...], StoppedBy]:
    """Return the bounds (levels,) that the answer does not refute, and the reason for the end of the solve.

    The reason `optimal` becomes `done` if the answer does not reach all bounds.

    values  (levels,) the values of the answer. A value below its bound shows an error of the solver, so that bound is
            replaced by -inf
    bounds  (levels,) the lower bounds that the solver claims
    gap     distance between value and bound, as a share of the value, at which the value reaches the bound
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
