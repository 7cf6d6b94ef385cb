"""Solve mixed-integer models in spite of two defects of HiGHS 1.15."""

from __future__ import annotations

import time
from dataclasses import replace

from libs.domain.arrays import Floats
from libs.mip.highs import Cancelled, Improved, Limits, Progress, Solution, solve_mip
from libs.mip.model import Model

SAME = 1e-6
"""Relative difference up to which the cost of an answer counts as that of the start."""


def solve_surely(
    model: Model,
    limits: Limits,
    *,
    start: Floats,
    seed: int = 0,
    restarts: bool = True,
    strong_branching: bool = True,
    tolerance: float | None = None,
    progress: Progress | None = None,
    improved: Improved | None = None,
    cancelled: Cancelled | None = None,
) -> Solution:
    """Solve a model by branch and bound from `start` (C,), as `solve_mip` does.

    Solve again in two cases in which HiGHS 1.15 is known to be wrong. Its presolve may lose the start, which is
    feasible, and call the model infeasible. It may also call the start optimal although it is not: once presolve has
    left costs that are multiples of a unit, it cuts off answers that are less than half a unit cheaper. That is right
    only if the cost of the start is such a multiple too.

    The nodes are those of all runs, which share the time.
    """
    began, nodes = time.perf_counter(), 0

    def solve(begin: Floats | None, *, presolve: bool = True) -> Solution:
        nonlocal nodes
        found = solve_mip(
            model,
            replace(limits, time_s_max=max(limits.time_s_max - (time.perf_counter() - began), 0.0)),
            start=begin,
            seed=seed,
            presolve=presolve,
            restarts=restarts,
            strong_branching=strong_branching,
            tolerance=tolerance,
            progress=progress,
            improved=improved,
            cancelled=cancelled,
        )
        nodes += found.nodes
        return found

    def sure(begin: Floats | None) -> Solution:
        found = solve(begin)
        return solve(begin, presolve=False) if found.infeasible else found

    found = sure(start)
    if found.optimal and found.objective >= model.objective(start) - SAME * max(1.0, abs(found.objective)):
        again = sure(None)
        found = replace(again, x=start, objective=found.objective) if again.objective > found.objective else again
    return replace(found, nodes=nodes)
