"""Compute all cells from an assignment: the start of local search, and the reference for its increments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from libs.assignment.graph.cell import Cell
from libs.assignment.graph.linear import Graph
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.expressions.max import Over
from libs.assignment.language.matrices import csr


@dataclass(frozen=True, slots=True, eq=False)
class CellValue:
    """The argument of a cell's function, and its value.

    x       (rows, columns) for dense cells; for others (rows, columns) sparse: its difference from by_row + by_column
    keys    (k,) row * columns + column of the stored elements of sparse x and y; empty for dense cells
    y       out_shape, likewise; for sparse cells less `y_empty`, the value of an empty element
    """

    x: Floats
    keys: Ints
    y: Any
    total: float


def compute(graph: Graph, initial: Ints, assignment: Ints) -> list[CellValue]:
    """Return the value of every cell, in order."""
    values: list[CellValue] = []
    for cell in graph.cells:
        values.append(
            _dense(graph, cell, values, initial, assignment)
            if cell.dense
            else _sparse(graph, cell, values, initial, assignment)
        )
    return values


def _dense(graph: Graph, cell: Cell, values: list[CellValue], initial: Ints, assignment: Ints) -> CellValue:
    x = cell.by_row[:, None] + cell.by_column[None, :]
    if cell.grid is not None:
        x = x + cell.grid.toarray()
    for leaf in cell.leaves:
        x = x + leaf.contribution(initial, assignment).toarray()
    for link in cell.links:
        y = values[link.source].y
        over = y if link.rows is None else link.rows @ y
        across = over if link.columns is None else over @ link.columns.T
        x = x + link.coefficient * written_out(across)
        source = graph.cells[link.source]
        if not source.dense:
            x = x + link.coefficient * empty_part(source, link.rows, link.columns)
    y = _maxima(cell, x) if cell.over is not None else (x if cell.apply is None else cell.apply(x, cell.parameter))
    return CellValue(x, np.zeros(0, dtype=np.int64), y, float(y.sum()))


def _sparse(graph: Graph, cell: Cell, values: list[CellValue], initial: Ints, assignment: Ints) -> CellValue:
    held = csr(cell.shape) if cell.grid is None else cell.grid
    for leaf in cell.leaves:
        held = held + leaf.contribution(initial, assignment)
    for link in cell.links:
        source = graph.cells[link.source]
        if not source.dense and (empty_value(source, source.by_row, source.by_column) != 0).any():
            raise ModelError(
                f"an expression over {cell.shape[0]} x {cell.shape[1]} values is too large: it is not 0 without objects"
            )
        y = csr(values[link.source].y)
        over = y if link.rows is None else link.rows @ y
        held = held + link.coefficient * csr(over if link.columns is None else over @ link.columns.T)
    entries = sparse.coo_array(held)
    rows, columns = entries.coords
    base = cell.by_row[rows] + cell.by_column[columns]
    x = base + entries.data
    apply = cell.apply
    gain = entries.data if apply is None else apply(x, cell.parameter) - apply(base, cell.parameter)
    y = csr((gain, (rows, columns)), shape=cell.shape)
    total = float(gain.sum()) + float(empty_part(cell, np.ones((1, cell.shape[0])), np.ones((1, cell.shape[1])))[0, 0])
    return CellValue(x, rows.astype(np.int64) * cell.shape[1] + columns, y, total)


def empty_value(cell: Cell, by_row: Floats, by_column: Floats) -> Floats:
    """Return the value of empty elements: (rows, columns) or (1, 1)."""
    x = by_row[:, None] + by_column[None, :]
    if len(x) > 1 and (by_row == by_row[0]).all() and (by_column == by_column[0]).all():
        x = x[:1, :1]
    return x if cell.apply is None else cell.apply(x, cell.parameter)


def empty_part(cell: Cell, rows: object, columns: object) -> Floats:
    """Return rows @ (value of empty elements) @ columns.T, computed row by row, because the whole would be too
    large.
    """
    height, width = cell.shape
    over = csr(sparse.eye_array(height) if rows is None else rows)
    across = csr(sparse.eye_array(width) if columns is None else columns)
    if (cell.by_row == cell.by_row[0]).all() and (cell.by_column == cell.by_column[0]).all():
        each = float(empty_value(cell, cell.by_row[:1], cell.by_column[:1])[0, 0])
        alike: Floats = each * np.outer(over.sum(axis=1), across.sum(axis=1))
        return alike
    total = np.zeros((over.shape[0], across.shape[0]))
    for row, by in enumerate(cell.by_row):
        y = empty_value(cell, np.array([by]), cell.by_column)
        if y.any():
            total += np.outer(over[:, [row]].toarray().ravel(), across @ np.broadcast_to(y, (1, width)).ravel())
    return total


def written_out(given: Any) -> Floats:
    """Return a dense array."""
    return np.asarray(csr(given).toarray() if sparse.issparse(given) else given, dtype=np.float64)


def _maxima(cell: Cell, x: Floats) -> Floats:
    n = int(cell.parameter)
    if cell.over is Over.ALL:
        return np.asarray(np.partition(x, -1 - n, axis=None)[-1 - n]).reshape(1, 1)
    axis = 0 if cell.over is Over.ROWS else 1
    return np.asarray(np.partition(x, -1 - n, axis=axis).take([-1 - n], axis=axis))
