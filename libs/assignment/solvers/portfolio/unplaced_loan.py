"""Lend unplaced objects to a submodel. Unplaced objects are in one container, the sink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.submodel import Submodel
from libs.mip.model import Model


def sink_columns(lowered: Lowered, sink: int) -> Ints:
    """Return for each class the number of the column that counts its objects in the container `sink`, (K,).

    The number is -1 for a class that the sink does not accept.
    """
    found = np.full(len(lowered.classes.size), -1)
    columns = np.flatnonzero(lowered.container == sink)
    found[lowered.kind[columns]] = columns
    return found


def with_lent(lowered: Lowered, model: Model, sub: Submodel, sink_of: Ints, lent: Floats | Ints) -> Submodel:
    """Return `sub` with a loan: it may take up to `lent` (K,) objects of each class from the sink, and give any back.

    The submodel gets no columns for the sink. The cost of a count is now its cost less the cost in the sink, and the
    bounds of supply rows allow the loan.

    sink_of  (K,) the column of each class in the sink, from `sink_columns`
    """
    classes, width = len(lowered.classes.size), len(lowered.kind)
    supply = sub.rows < classes
    kinds = sub.rows[supply]
    sunk = sink_of[kinds] >= 0
    lower, upper = sub.model.row_lower.copy(), sub.model.row_upper.copy()
    at = np.flatnonzero(supply)[sunk]
    lower[at] = -np.inf
    upper[at] += lent[kinds[sunk]]  # with all others fixed, the rest of a class is the containers' own part
    cost = sub.model.cost.copy()
    counts = sub.columns < width
    sink = sink_of[lowered.kind[sub.columns[counts]]]
    cost[counts] -= np.where(sink >= 0, model.cost[sink], 0.0)
    return replace(sub, model=replace(sub.model, cost=cost, row_lower=lower, row_upper=upper))
