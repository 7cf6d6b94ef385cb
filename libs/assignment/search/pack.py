"""Cells to flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from libs.assignment.arrays import Floats, Ints
from libs.assignment.expressions.max import Over
from libs.assignment.flavour import Flavour
from libs.assignment.matrices import Matrix
from libs.assignment.scope import Scope
from libs.assignment.search.cell import Cell, fan, is_direct
from libs.assignment.search.delta import EMPTY, fill_slots
from libs.assignment.search.linear import Graph
from libs.assignment.search.tables import (
    ALL,
    CHANGE_AT,
    CLASS_AT,
    COEFFICIENT,
    COLUMN_KIND,
    COLUMN_MAP,
    COLUMNS,
    DEFAULT_COLUMN_AT,
    DEFAULT_ROW_AT,
    DIRECT,
    FACTOR,
    FACTOR_ITEM_AT,
    FACTOR_WIDTH,
    FLAVOUR,
    FUNCTION,
    HARD,
    ITEM_AT,
    LEAF,
    LEAVES,
    LEVELS,
    LINK,
    MANY,
    MOVES_MAX,
    ONE,
    OVER,
    ROW_KIND,
    ROW_MAP,
    ROWS,
    SAME,
    SCRATCH,
    SLOT_AT,
    SLOTS,
    TARGET,
    TOP_AT,
    VALUE,
    WIDTH,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.search.whole import CellValue

OVERS = {None: 0, Over.ROWS: 1, Over.COLUMNS: 2, Over.ALL: 3}
FLAVOURS = {Flavour.AFTER: 0, Flavour.NEW: 1, Flavour.OLD: 2}
TOLERANCE_SHARE = 1e-9
"""Of a hard element, relative to the largest number in its cell."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """What a cell's total counts in an objective level."""

    cell: int
    level: int
    weight: float


Reader = tuple[int, float, tuple[int, int], tuple[int, int]]
"""Target, coefficient, map of rows, map of columns."""


class Maps:
    """Maps between rows, columns, containers and objects, each stored once. See Tables for how."""

    def __init__(self) -> None:
        self.index = _Flat(np.int64)
        self.number = _Flat(np.float64)
        self._known: dict[tuple[bytes, bytes, bytes], tuple[int, int]] = {}

    def add(self, matrix: Matrix | None) -> tuple[int, int]:
        """Kind and offset of a map from the matrix's columns to its rows."""
        if matrix is None:
            return SAME, 0
        by_source = sparse.csc_array(matrix)
        by_source.sum_duplicates()
        if by_source.shape[0] == 1 and by_source.nnz == by_source.shape[1] and (by_source.data == 1).all():
            return ALL, 0
        key = (by_source.indptr.tobytes(), by_source.indices.tobytes(), by_source.data.tobytes())
        if key not in self._known:
            self._known[key] = self._store(by_source)
        return self._known[key]

    def _store(self, by_source: Matrix) -> tuple[int, int]:
        counts = np.diff(by_source.indptr)
        if counts.max(initial=0) <= 1:
            targets, factors = np.full(len(counts), -1, dtype=np.int64), np.zeros(len(counts))
            targets[counts == 1], factors[counts == 1] = by_source.indices, by_source.data
            by = self.number.add(factors)
            return ONE, self.index.add(np.concatenate([[by], targets])) + 1
        targets_at = self.index.add(by_source.indices)
        by = self.number.add(by_source.data)
        starts = by_source.indptr.astype(np.int64) + targets_at
        return MANY, self.index.add(np.concatenate([[by - targets_at], starts])) + 1


class _Flat:
    """Arrays one after the other."""

    def __init__(self, kind: type) -> None:
        self.kind, self.size = kind, 0
        self.parts: list[NDArray[Any]] = [np.zeros(0, dtype=kind)]

    def add(self, values: NDArray[Any]) -> int:
        """Where they start."""
        at = self.size
        self.parts.append(np.asarray(values, dtype=self.kind).ravel())
        self.size += self.parts[-1].size
        return at

    def whole(self) -> NDArray[Any]:
        """All of them."""
        return np.concatenate(self.parts)


def pack(graph: Graph, goals: list[Weighted], initial: Ints, levels: int) -> Tables:
    """The arrays of a graph whose cells stand in the order in which they are to be settled."""
    cells, maps = graph.cells, Maps()
    leaves = [(n, leaf) for n, cell in enumerate(cells) for leaf in cell.leaves]
    readers = _readers(graph, goals, maps)
    links = [link for of_cell in readers for link in of_cell]
    node = np.zeros((2 + len(cells) + len(leaves) + len(links), WIDTH), dtype=np.int64)
    real = np.zeros((len(node), 2))
    first_leaf, first_link = 1 + len(cells), 1 + len(cells) + len(leaves)
    values, value_of = _distinct([leaf.values for _, leaf in leaves])
    scopes: dict[int, int] = {}

    def items(scope: Scope) -> int:
        return scopes[id(scope)] if id(scope) in scopes else scopes.setdefault(id(scope), maps.index.add(scope.item))

    sizes = _layout(graph, levels)
    leaf_at, link_at = first_leaf, first_link
    for n, cell in enumerate(cells, 1):
        row = node[n]
        row[FUNCTION], row[OVER], row[HARD] = cell.function, OVERS[cell.over], cell.hard
        row[ROWS], row[COLUMNS] = cell.shape
        row[X_AT], row[SLOTS], row[SLOT_AT], row[TOP_AT], row[WORK_AT], row[CHANGE_AT] = sizes.cells[n - 1]
        if not cell.dense:
            row[DEFAULT_ROW_AT] = maps.number.add(cell.by_row)
            row[DEFAULT_COLUMN_AT] = maps.number.add(cell.by_column)
        row[LEAF], row[LEAVES], row[LINK] = leaf_at, len(cell.leaves), link_at
        leaf_at, link_at = leaf_at + len(cell.leaves), link_at + len(readers[n - 1])
        real[n] = cell.parameter, TOLERANCE_SHARE * _magnitude(cell)
    node[1 + len(cells), LINK] = link_at
    factors: dict[int, tuple[int, int]] = {}
    for k, (_, leaf) in enumerate(leaves):
        row, factor = node[first_leaf + k], leaf.factor
        row[VALUE], row[FLAVOUR], row[ITEM_AT], row[FACTOR] = value_of[k], FLAVOURS[leaf.flavour], items(leaf.scope), -1
        if factor is not None:
            if id(factor) not in factors:
                factors[id(factor)] = maps.number.add(factor.table), maps.index.add(factor.classes)
            row[FACTOR], row[CLASS_AT] = factors[id(factor)]
            row[FACTOR_ITEM_AT], row[FACTOR_WIDTH] = items(factor.scope), factor.table.shape[1]
        row[ROW_KIND], row[ROW_MAP] = maps.add(leaf.rows)
        row[COLUMN_KIND], row[COLUMN_MAP] = (ALL, 0) if leaf.columns is None else maps.add(leaf.columns)
    for k, (target, coefficient, over, across) in enumerate(links):
        row, real[first_link + k, COEFFICIENT] = node[first_link + k], coefficient
        row[TARGET] = target + 1 if target >= 0 else target
        (row[ROW_KIND], row[ROW_MAP]), (row[COLUMN_KIND], row[COLUMN_MAP]) = over, across
    node[0, : DIRECT + 1] = (
        len(cells),
        levels,
        graph.objects,
        graph.containers,
        maps.index.add(initial),
        maps.number.add(values),
        values.shape[1],
        sizes.moves_at,
        sum(is_direct(cell, read=any(link[0] >= 0 for link in readers[n])) for n, cell in enumerate(cells)),
    )
    return Tables(node=node, real=real, lookup=maps.index.whole(), number=maps.number.whole())


def start(tables: Tables, graph: Graph, values: list[CellValue], assignment: Ints, goals: list[Weighted]) -> State:
    """The state at an assignment, from its cells computed whole."""
    sizes = _layout(graph, int(tables.node[0, LEVELS]))
    state = State(whole=np.zeros(sizes.whole, dtype=np.int64), part=np.zeros(sizes.part))
    state.whole[: len(assignment)] = assignment
    for n, (cell, value) in enumerate(zip(graph.cells, values, strict=True), 1):
        at, slots = int(tables.node[n, X_AT]), int(tables.node[n, SLOTS])
        if cell.dense:
            state.part[at : at + 2 * value.x.size : 2] = value.x.ravel()
        else:
            slot_at = int(tables.node[n, SLOT_AT])
            state.whole[slot_at : slot_at + slots] = EMPTY
            fill_slots(tables, state, n, value.keys, value.x)
            state.whole[tables.node[n, WORK_AT] + 1] = len(value.keys)
        if cell.over is not None:
            top, maxima = int(tables.node[n, TOP_AT]), np.asarray(value.y).ravel()
            state.part[top : top + len(maxima)] = maxima
    for goal in goals:
        state.part[goal.level] += goal.weight * values[goal.cell].total
    return state


def _readers(graph: Graph, goals: list[Weighted], maps: Maps) -> list[list[Reader]]:
    """For each cell who reads it: cells, and levels as -1 - level."""
    readers: list[list[Reader]] = [[] for _ in graph.cells]
    for target, cell in enumerate(graph.cells):
        for link in cell.links:
            readers[link.source].append((target, link.coefficient, maps.add(link.rows), maps.add(link.columns)))
    for goal in goals:
        readers[goal.cell].append((-1 - goal.level, goal.weight, (ALL, 0), (ALL, 0)))
    return readers


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in State: per cell X_AT, SLOTS, SLOT_AT, TOP_AT, WORK_AT, CHANGE_AT; and the sizes of its
    arrays.
    """

    cells: list[tuple[int, int, int, int, int, int]]
    moves_at: int
    whole: int
    part: int


def _layout(graph: Graph, levels: int) -> _Layout:
    moves_at, part = graph.objects, 2 * levels + SCRATCH
    whole = moves_at + 3 * MOVES_MAX + SCRATCH
    cells = []
    for cell, bound in zip(graph.cells, _bounds(graph), strict=True):
        slots = 0 if cell.dense else _slots(cell, bound // MOVES_MAX, graph.objects)
        maxima = 0 if cell.over is None else cell.out_shape[0] * cell.out_shape[1]
        x = 2 * cell.shape[0] * cell.shape[1] if cell.dense else slots
        cells.append((part, slots, whole, part + x, whole + slots, part + x + maxima))
        whole += slots + 2 + bound
        part += x + maxima + (0 if cell.dense else bound)
    return _Layout(cells, moves_at, whole, part)


def _bounds(graph: Graph) -> list[int]:
    """How often a change can push into each cell."""
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
    """Room for four times the elements that can differ from empty at once."""
    held = objects * max(per_move, 1) + (0 if cell.grid is None else cell.grid.nnz)
    return int(2 ** np.ceil(np.log2(4 * min(held, cell.shape[0] * cell.shape[1]) + 64)))


def _magnitude(cell: Cell) -> float:
    parts = [np.abs(cell.by_row).max(initial=1.0), np.abs(cell.by_column).max(initial=1.0)]
    return float(max(parts))


def _distinct(columns: list[Floats]) -> tuple[Floats, list[int]]:
    """(N, D) the distinct columns side by side, and which of them each is."""
    known: dict[bytes, int] = {}
    which = [known.setdefault(column.tobytes(), len(known)) for column in columns]
    kept = [np.frombuffer(data) for data in known]
    return (np.ascontiguousarray(np.stack(kept, axis=1)) if kept else np.zeros((0, 0))), which
