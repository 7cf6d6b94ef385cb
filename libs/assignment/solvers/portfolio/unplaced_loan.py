"""Lend unplaced objects to a part of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.submodel import Submodel
from libs.mip.model import Model


def sink_columns(lowered: Lowered, sink: int) -> Ints:
    """Return the count of each class in the sink, (K,); -1 if there is none."""
    found = np.full(len(lowered.classes.size), -1)
    columns = np.flatnonzero(lowered.container == sink)
    found[lowered.kind[columns]] = columns
    return found


def with_lent(lowered: Lowered, model: Model, sub: Submodel, sink_of: Ints, lent: Floats | Ints) -> Submodel:
    """Let objects go to the sink, and `lent` (K,) come from it: its columns merge into the others' costs and rows."""
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
