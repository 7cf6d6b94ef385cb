"""Find hard constraints that no assignment meets together, and the least amount by which they must be broken."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.errors import shown
from libs.assignment.language.problem import Problem
from libs.assignment.model.lower import lower_compiled
from libs.assignment.model.lowered import Lowered
from libs.mip.highs import Limits, solve_lp

PROVEN = 1e-6
"""Least lower bound of the total excess that proves a clash of hard constraints."""
COUNTS = 1e-7
"""Share of the largest row price below which a row price is a rounding error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Hard constraints that cannot all hold, for any assignment.

    least   lower bound of the total excess of all hard constraints, each with its weight
    specs   the names of the specs whose limits prove that bound
    broken  the limits that the cheapest relaxed assignment breaks: for each the name of its spec, the row and column in
            the array of the spec, and the excess
    """

    least: float
    specs: tuple[str, ...]
    broken: tuple[tuple[str, int, int, float], ...]

    def in_words(self) -> str:
        """Return the names of the specs and their excess, as text."""
        where = shown(
            f"{amount:g} in row {row}, column {column} of {spec}" for spec, row, column, amount in self.broken
        )
        return f"{', '.join(self.specs)} cannot all hold: whatever is done, {self.least:g} is broken; at best {where}"


def clash_of(problem: Problem, time_s_max: float = math.inf) -> Clash | None:
    """Find the least total excess of all hard constraints by a linear program. Return None if the total excess may be
    zero.

    min  sum_k weight[k] excess[k]   over fractional counts, from any initial assignment

    The linear program is the relaxation of an integer program, so its bound is proven. It misses conflicts that only
    whole objects have, and conflicts that take longer than `time_s_max` seconds to solve.
    """
    lowered = _all_soft(problem)
    found = solve_lp(lowered.at(0), "simplex", Limits(time_s_max=time_s_max))
    if found.x is None or found.price is None or found.bound <= PROVEN:
        return None
    strong = np.abs(found.price) > COUNTS * np.abs(found.price).max(initial=0.0)
    specs = {block.name for block in lowered.blocks if strong[block.first : block.last].any()} - {"objects"}
    specs = specs or {one.spec.where for one in problem.constraints if one.hard}
    cost = lowered.levels[0].cost * found.x
    missing = []
    for block in lowered.blocks:
        rows = lowered.model.matrix[block.first : block.last].tocsr()
        for at in np.flatnonzero(strong[block.first : block.last]):
            entries = rows.indices[rows.indptr[at] : rows.indptr[at + 1]]
            amount = float(found.x[entries[cost[entries] > 0]].sum())
            if amount > PROVEN:
                row, column = divmod(int(block.keys[at]), block.columns)
                missing.append((block.name, row, column, amount))
    return Clash(least=found.bound, specs=tuple(sorted(specs)), broken=tuple(missing))


def _all_soft(problem: Problem) -> Lowered:
    """Return the model of the hard constraints of `problem` as soft constraints, without its other specs."""
    alone = copy.copy(problem)
    alone.goals = []
    alone.constraints = [replace(one, hard=False) for one in problem.constraints if one.hard]
    return lower_compiled(Compiled.of(alone), named=True)
