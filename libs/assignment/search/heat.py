"""Which containers have most to do with what is wrong: where a search looks first."""

from __future__ import annotations

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.matrices import Matrix
from libs.assignment.search.cell import Cell
from libs.assignment.search.linear import Graph
from libs.assignment.search.pack import Weighted
from libs.assignment.search.whole import CellValue, compute, written_out


def container_heat(graph: Graph, goals: list[Weighted], level: int, initial: Ints, assignment: Ints) -> Floats:
    """(C,) the share of each container in the value of a level.

    The value of a cell is handed down by rows: to the rows of the cells that it reads, and from leaves to
    containers. An
    order to look in, not a price: signs, and which group is at fault, are not followed. Source: Rebalancer, A.2,
    where the
    graph is walked from the root by potential until one container stands out.
    """
    values = compute(graph, initial, assignment)
    share = [np.zeros(cell.shape[0]) for cell in graph.cells]
    for goal in goals:
        if goal.level == level:
            share[goal.cell] += _in_rows(graph.cells[goal.cell], values[goal.cell], abs(goal.weight))
    heat = np.zeros(graph.containers)
    for n in reversed(range(len(graph.cells))):
        cell = graph.cells[n]
        if not share[n].any():
            continue
        for link in cell.links:
            handed = _back(link.rows, share[n])
            source = graph.cells[link.source]
            if source.over is not None and len(handed) != source.shape[0]:
                handed = handed.sum() * _at_top(values[link.source])
            share[link.source] += abs(link.coefficient) * handed
        for leaf in cell.leaves:
            heat += _back(leaf.rows, share[n])
    return heat


def _in_rows(cell: Cell, value: CellValue, weight: float) -> Floats:
    """(rows,) what the rows of a cell add to the objective."""
    if cell.over is not None and cell.out_shape[0] != cell.shape[0]:
        return weight * abs(value.total) * _at_top(value)
    return weight * np.asarray(np.abs(value.y).sum(axis=1), dtype=np.float64).ravel()


def _at_top(value: CellValue) -> Floats:
    """(rows,) 1 for the rows that hold the largest element."""
    most = written_out(value.x).max(axis=1)
    return np.asarray(most >= most.max(), dtype=np.float64)


def _back(rows: Matrix, share: Floats) -> Floats:
    """From the rows of a map to its sources."""
    return share if rows is None else np.asarray(abs(rows).T @ share, dtype=np.float64)
