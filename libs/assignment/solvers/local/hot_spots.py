"""Order a search by possible gain.

The heat of an object is its potential: its contribution to a level less the least contribution that it could make
anywhere. Slopes, with their signs, pass down the graph: from a goal to the cells that it adds up, from a cell to the
cells and leaves that it reads. A linear cell passes its slope on. Any other cell passes on its value above 0 per unit
held by its row, so a row's excess is shared among its objects. The column (group) at fault is not followed. Source:
Rebalancer, A.2 (potential: value less lower bound).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import IDENTITY, MAX, Cell, Leaf, Total
from libs.assignment.graph.full_evaluation import CellValue, compute, written_out
from libs.assignment.graph.linear import Graph
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.flavour import Flavour

PLACES_MAX = 10_000_000
"""Most classes of a factor times containers to multiply at once."""


def container_heat(graph: Graph, goals: Sequence[Total], level: int, initial: Ints, assignment: Ints) -> Floats:
    """Return the heat of all objects of each container, (C,)."""
    heat = object_heat(graph, goals, level, initial, assignment)
    return np.asarray(np.bincount(assignment, weights=heat, minlength=graph.containers), dtype=np.float64)


def object_heat(graph: Graph, goals: Sequence[Total], level: int, initial: Ints, assignment: Ints) -> Floats:
    """Return the heat of each object, (N,), 0 or more, in the unit of the level. It is an order of search, not a
    price.
    """
    values = compute(graph, initial, assignment)
    slopes = [np.zeros(cell.out_shape[0]) for cell in graph.cells]
    for goal in goals:
        if goal.level == level:
            slopes[goal.cell] += goal.weight
    heat = np.zeros(graph.objects)
    for n in reversed(range(len(graph.cells))):
        if not slopes[n].any():
            continue
        cell = graph.cells[n]
        inside = _inside(graph, cell, values, n, slopes[n], initial, assignment)
        for link in cell.links:
            handed = inside if link.rows is None else np.asarray(link.rows.T @ inside).ravel()
            slopes[link.source] += link.coefficient * handed
        for leaf in cell.leaves:
            heat += _potential(leaf, np.asarray(leaf.rows.T @ inside).ravel(), initial, assignment)
    return heat


def object_sizes(graph: Graph) -> Floats:
    """Return the size of each object, (N,): the sum of its counted values, each in units of the mean."""
    size = np.zeros(graph.objects)
    known: set[bytes] = set()
    for cell in graph.cells:
        for leaf in cell.leaves:
            values = np.abs(leaf.values)
            key = values.tobytes()
            if key not in known and values.any():
                known.add(key)
                size += values / values.mean()
    return size


def _inside(
    graph: Graph, cell: Cell, values: list[CellValue], n: int, slope: Floats, initial: Ints, assignment: Ints
) -> Floats:
    """Return the slope of a cell's argument, (rows,), from the slope of its value."""
    if cell.function == IDENTITY:
        return slope
    if cell.function == MAX:
        most = written_out(values[n].x).max(axis=1)
        over_all = cell.out_shape[0] != cell.shape[0]
        return slope.sum() * np.asarray(most >= most.max(), dtype=np.float64) if over_all else slope
    value = np.asarray(np.abs(values[n].y).sum(axis=1), dtype=np.float64).ravel()
    held = np.zeros(cell.shape[0])
    for leaf in cell.leaves:
        held += np.asarray(abs(leaf.contribution(initial, assignment)).sum(axis=1)).ravel()
    for link in cell.links:
        y = np.asarray(np.abs(values[link.source].y).sum(axis=1), dtype=np.float64).ravel()
        held += abs(link.coefficient) * (y if link.rows is None else np.asarray(abs(link.rows) @ y).ravel())
    return slope * value / np.maximum(np.maximum(held, value), np.finfo(np.float64).tiny)


def _potential(leaf: Leaf, slope: Floats, initial: Ints, assignment: Ints) -> Floats:
    """Return each object's contribution through a leaf less its least possible one, (N,). `slope` is per container
    (C,).
    """
    values = leaf.values if leaf.columns is None else leaf.values * np.asarray(leaf.columns.sum(axis=0)).ravel()
    where = initial if leaf.flavour is Flavour.OLD else assignment
    if leaf.factor is None:
        here = slope[where]
        low, high = np.full(len(values), slope.min(initial=np.inf)), np.full(len(values), slope.max(initial=-np.inf))
    else:
        objects = np.arange(len(values))
        here = slope[where] * leaf.factor.of(objects, where)
        low, high = _ends(leaf, slope)
    here = values * here
    least = np.minimum(values * low, values * high) if leaf.flavour is not Flavour.OLD else np.minimum(here, 0.0)
    if leaf.flavour is not Flavour.AFTER:
        here = np.where(leaf.scope.item[initial] != leaf.scope.item[assignment], here, 0.0)
        least = np.minimum(least, 0.0)
    return np.asarray(here - least, dtype=np.float64)


def _ends(leaf: Leaf, slope: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest product of each object's factor and the slopes, (N,)."""
    assert leaf.factor is not None
    size = len(leaf.factor.table)
    low, high = np.zeros(size), np.zeros(size)
    step = max(PLACES_MAX // max(len(slope), 1), 1)
    for first in range(0, size, step):
        part = slice(first, first + step)
        by = leaf.factor.by_container(part) * slope
        low[part], high[part] = by.min(axis=1), by.max(axis=1)
    return low[leaf.factor.classes], high[leaf.factor.classes]
