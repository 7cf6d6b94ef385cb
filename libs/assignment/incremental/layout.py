"""Assign places to the numbers that changes write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.cell import Cell, fan
from libs.assignment.graph.linear import Graph
from libs.assignment.incremental.tables import KEYS, OVERS, SCRATCH
from libs.assignment.kernels.sizes import MOVES_MAX


@dataclass(frozen=True, slots=True)
class Layout:
    """The offsets in State: per cell X_AT, SLOTS, SLOT_AT, TOP_AT, WORK_AT, CHANGE_AT; per stack HELD, SUMS, TOUCHED,
    PRICE; and the sizes of its arrays.
    """

    cells: list[tuple[int, int, int, int, int, int]]
    stacks: list[tuple[int, int, int, int]]
    moves_at: int
    whole: int
    part: int


def lay_out(graph: Graph, levels: int) -> Layout:
    """Return a layout with room for all cells and stacks."""
    moves_at, part = graph.objects, 2 * levels + SCRATCH + OVERS
    whole = moves_at + KEYS + SCRATCH
    cells, stacks = [], []
    for n, (cell, bound) in enumerate(zip(graph.cells, _bounds(graph), strict=True)):
        if n < graph.stacked:
            cells.append((0, 0, 0, 0, 0, 0))
            continue
        slots = 0 if cell.dense else _slots(cell, bound // MOVES_MAX, graph.objects)
        maxima = 0 if cell.over is None else cell.out_shape[0] * cell.out_shape[1]
        x = 2 * cell.shape[0] * cell.shape[1] if cell.dense else slots
        cells.append((part, slots, whole, part + x, whole + slots, part + x + maxima))
        whole += slots + 2 + bound
        part += x + maxima + (0 if cell.dense else bound)
    for stack in graph.stacks:
        rows = stack.rows.shape[0]
        held, touched = rows * stack.layers, min(rows, 2 * MOVES_MAX)
        price = part + held + touched * stack.layers
        stacks.append((part, part + held, whole, price))
        whole += 1 + touched
        part = price + rows * len(stack.cells)
    return Layout(cells, stacks, moves_at, whole, part)


def _bounds(graph: Graph) -> list[int]:
    """Return the largest number of pushes of one change into each cell."""
    bounds: list[int] = []
    for cell in graph.cells:
        bound = (
            2
            * MOVES_MAX
            * sum(fan(leaf.rows) * (1 if leaf.columns is None else fan(leaf.columns)) for leaf in cell.leaves)
        )
        for link in cell.links:
            bound += bounds[link.source] * fan(link.rows) * fan(link.columns)
        if cell.dense:
            bound = min(bound, cell.shape[0] * cell.shape[1])
        bounds.append(bound)
    return bounds


def _slots(cell: Cell, per_move: int, objects: int) -> int:
    """Return four times the largest number of elements that can differ from empty at once, as a power of two."""
    held = objects * max(per_move, 1) + (0 if cell.grid is None else cell.grid.nnz)
    return int(2 ** np.ceil(np.log2(4 * min(held, cell.shape[0] * cell.shape[1]) + 64)))
