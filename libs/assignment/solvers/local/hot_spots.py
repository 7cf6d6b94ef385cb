"""Where a search looks first: at what could gain most.

The heat of an object is its potential: what it adds to a level less the least that it could add anywhere. Values are
handed down the graph as slopes, with their signs: from a goal to the cells that it adds up, from a cell to the cells
and leaves that it reads. A linear cell hands its slope on. Any other hands on its value above 0 per unit of what
its row holds, so that what a row has too much is shared out among its objects. Which column (group) of a row is at
fault is not followed. Source: Rebalancer, A.2 (potential: value less lower bound).
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
"""Classes of a factor times containers that are multiplied at once."""


def container_heat(graph: Graph, goals: Sequence[Total], level: int, initial: Ints, assignment: Ints) -> Floats:
    """(C,) the heat of all objects of each container."""
    heat = object_heat(graph, goals, level, initial, assignment)
    return np.asarray(np.bincount(assignment, weights=heat, minlength=graph.containers), dtype=np.float64)


def object_heat(graph: Graph, goals: Sequence[Total], level: int, initial: Ints, assignment: Ints) -> Floats:
    """(N,) 0 or more, in the unit of the level. An order to look in, not a price."""
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
    """(N,) how large each object is: its values in all that is counted, each in units of the mean."""
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
    """(rows,) from the slope of a cell's value to that of what its function is applied to."""
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
    """(N,) what each object adds by a leaf, less the least that it could. `slope` is that of each container (C,)."""
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
    """(N,) the least and the most that the factor of each object makes of the slopes."""
    assert leaf.factor is not None
    size = len(leaf.factor.table)
    low, high = np.zeros(size), np.zeros(size)
    step = max(PLACES_MAX // max(len(slope), 1), 1)
    for first in range(0, size, step):
        part = slice(first, first + step)
        by = leaf.factor.by_container(part) * slope
        low[part], high[part] = by.min(axis=1), by.max(axis=1)
    return low[leaf.factor.classes], high[leaf.factor.classes]
