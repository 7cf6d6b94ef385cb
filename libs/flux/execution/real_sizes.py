"""The sizes that the resizes of an execution really begin at and lead to. Pure."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.plan_check.execution_room import has_happened


def real_sizes(graph: ExecutionGraph, progress: Progress) -> tuple[Floats, Floats]:
    """Return (N,) the capacity of the place of each resize before and after it, in units of its hardware type; of
    other actions what the plan has.

    A plan takes it that the earlier resizes of a place lead to their planned sizes. People may have edited or skipped
    them. Later resizes keep the excess over the plan, so growth never takes it away. Growth does not make up for a
    lack, and a shrink does not take the lack a second time.
    """
    before, after = graph.before.copy(), progress.size.copy()
    happened = has_happened(graph, progress)
    for i in np.flatnonzero(graph.earlier >= 0).tolist():
        j = int(graph.earlier[i])
        extra = float((after if happened[j] else before)[j] - graph.after[j])
        before[i] += extra
        after[i] += extra if progress.size[i] > graph.before[i] else max(extra, 0.0)
    return before, after
