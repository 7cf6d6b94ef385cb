"""Pack cells into flat arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import Cell, Total
from libs.assignment.graph.classes import equivalent
from libs.assignment.graph.full_evaluation import CellValue
from libs.assignment.graph.linear import Graph
from libs.assignment.graph.reach import reaches, tolerance_of
from libs.assignment.graph.stacking import Stack, curve_numbers, guard_numbers
from libs.assignment.incremental.layout import lay_out
from libs.assignment.incremental.maps import Maps
from libs.assignment.incremental.similar_objects import alike
from libs.assignment.incremental.sparse_cells import EMPTY, fill_slots
from libs.assignment.incremental.tables import (
    ALIKE_MEMBERS,
    ALIKE_OF,
    ALL,
    CHANGE_AT,
    CLASS_AT,
    COEFFICIENT,
    COLUMN_KIND,
    COLUMN_MAP,
    COLUMNS,
    CURVE,
    CURVE_OF_ROW,
    CURVES,
    DEFAULT_COLUMN_AT,
    DEFAULT_ROW_AT,
    EXCESS,
    FACTOR,
    FACTOR_ITEM_AT,
    FACTOR_WIDTH,
    FLAVOUR,
    FUNCTION,
    GUARD,
    GUARDED,
    HARD,
    HELD,
    ITEM_AT,
    LAYERS,
    LAYERS_NEW,
    LEAF,
    LEAVES,
    LEVELS,
    LIMIT,
    LINK,
    MEMBERS,
    MOVABLE,
    MOVABLES,
    OVER,
    PRICE,
    READ,
    ROW_KIND,
    ROW_MAP,
    ROWS,
    SLOT_AT,
    SLOTS,
    STACK_VALUES,
    SUMS,
    TARGET,
    TOLERANCE,
    TOP_AT,
    TOUCHED,
    VALUE,
    WEIGHT,
    WIDTH,
    WORK_AT,
    X_AT,
    State,
    Tables,
)
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.max import Over
from libs.assignment.language.flavour import Flavour

OVERS = {None: 0, Over.ROWS: 1, Over.COLUMNS: 2, Over.ALL: 3}
FLAVOURS = {Flavour.AFTER: 0, Flavour.NEW: 1, Flavour.OLD: 2}
Reader = tuple[int, float, tuple[int, int], tuple[int, int]]
"""Target, coefficient, map of rows, map of columns."""


def pack(
    graph: Graph,
    goals: Sequence[Total],
    initial: Ints,
    levels: int,
    *,
    movable: Ints | None = None,
    compare: bool = False,
) -> Tables:
    """Return the arrays of a graph whose cells are in the order of settling.

    movable  the objects that a search draws from; None: all
    compare  whether to find similar objects; this takes longer than all else if all objects differ
    """
    cells, maps = graph.cells, Maps()
    movable = np.arange(graph.objects) if movable is None else movable
    leaves = [leaf for cell in cells[graph.stacked :] for leaf in cell.leaves]
    readers = _readers(graph, goals, maps)
    links = [link for of_cell in readers for link in of_cell]
    first_stack = 2 + len(cells) + len(leaves) + len(links)
    node = np.zeros((first_stack + len(graph.stacks), WIDTH), dtype=np.int64)
    real = np.zeros((len(node), 2))
    first_leaf, first_link = 1 + len(cells), 1 + len(cells) + len(leaves)
    values, value_of = _distinct([leaf.values for leaf in leaves])
    sizes, reached = lay_out(graph, levels), reaches(cells)
    leaf_at, link_at = first_leaf, first_link
    for n, cell in enumerate(cells, 1):
        row = node[n]
        row[FUNCTION], row[OVER], row[HARD] = cell.function, OVERS[cell.over], cell.hard
        row[ROWS], row[COLUMNS] = cell.shape
        row[X_AT], row[SLOTS], row[SLOT_AT], row[TOP_AT], row[WORK_AT], row[CHANGE_AT] = sizes.cells[n - 1]
        if not cell.dense:
            row[DEFAULT_ROW_AT] = maps.number.add(cell.by_row)
            row[DEFAULT_COLUMN_AT] = maps.number.add(cell.by_column)
        own = len(cell.leaves) if n > graph.stacked else 0
        row[LEAF], row[LEAVES], row[LINK] = leaf_at, own, link_at
        row[READ] = any(reader[0] >= 0 for reader in readers[n - 1])
        leaf_at, link_at = leaf_at + own, link_at + len(readers[n - 1])
        real[n] = cell.parameter, tolerance_of(cell, reached[n - 1])
    node[1 + len(cells), LINK] = link_at
    factors: dict[int, tuple[int, int]] = {}
    for k, leaf in enumerate(leaves):
        row, factor = node[first_leaf + k], leaf.factor
        row[VALUE], row[FLAVOUR], row[ITEM_AT], row[FACTOR] = (
            value_of[k],
            FLAVOURS[leaf.flavour],
            maps.items(leaf.scope),
            -1,
        )
        if factor is not None:
            if id(factor) not in factors:
                factors[id(factor)] = maps.number.add(factor.table), maps.index.add(factor.classes)
            row[FACTOR], row[CLASS_AT] = factors[id(factor)]
            row[FACTOR_ITEM_AT], row[FACTOR_WIDTH] = maps.items(factor.scope), factor.table.shape[1]
        row[ROW_KIND], row[ROW_MAP] = maps.add(leaf.rows)
        row[COLUMN_KIND], row[COLUMN_MAP] = (ALL, 0) if leaf.columns is None else maps.add(leaf.columns)
    for k, (target, coefficient, over, across) in enumerate(links):
        row, real[first_link + k, COEFFICIENT] = node[first_link + k], coefficient
        row[TARGET] = target + 1 if target >= 0 else target
        (row[ROW_KIND], row[ROW_MAP]), (row[COLUMN_KIND], row[COLUMN_MAP]) = over, across
    for k, (stack, at) in enumerate(zip(graph.stacks, sizes.stacks, strict=True)):
        node[first_stack + k, [HELD, SUMS, TOUCHED, PRICE]] = at
        _pack_stack(node[first_stack + k], stack, cells, readers, real[1:, TOLERANCE], maps)
    classes = equivalent([leaf for cell in cells for leaf in cell.leaves], graph.objects)
    by_class = movable[np.argsort(classes.of[movable], kind="stable")]
    class_sizes = np.bincount(classes.of[movable], minlength=len(classes))
    node[0, : MEMBERS + 1] = (
        len(cells),
        levels,
        graph.objects,
        graph.containers,
        maps.index.add(initial),
        maps.number.add(values),
        values.shape[1],
        sizes.moves_at,
        graph.stacked,
        graph.guards,
        graph.direct,
        first_stack,
        len(graph.stacks),
        maps.index.add(classes.of),
        maps.index.add(np.concatenate([[0], np.cumsum(class_sizes)])),
        maps.index.add(by_class),
    )
    node[0, MOVABLE], node[0, MOVABLES] = maps.index.add(movable), len(movable)
    if compare and graph.stacks and len(movable):
        found = alike(graph.stacks, movable)
        node[0, ALIKE_OF : ALIKE_MEMBERS + 1] = (
            maps.index.add(found.of),
            maps.index.add(found.near.ravel()),
            found.near.shape[1],
            maps.index.add(found.first),
            maps.index.add(found.members),
        )
    return Tables(node=node, real=real, lookup=maps.index.whole(), number=maps.number.whole())


def _pack_stack(
    row: Ints, stack: Stack, cells: list[Cell], readers: list[list[Reader]], tolerance: Floats, maps: Maps
) -> None:
    """Write a stack's row of `node` and the arrays that it points to."""
    guards: list[int] = []
    limits: list[Floats] = []
    excess: list[Floats] = []
    curves: list[tuple[int, int, int]] = []
    weights: list[tuple[float, float]] = []
    of_row: list[Floats] = []
    for n, new, k in stack.cells:
        cell, layer = cells[n], stack.layer(new, k)
        broken = 0.0
        for target, coefficient, _, _ in readers[n]:
            if cell.hard and target == -1:
                broken += coefficient
            else:
                curves.append((layer, cell.function, -1 - target))
                weights.append((coefficient, cell.parameter))
                of_row.append(curve_numbers(cell))
        if cell.hard:
            limit, slack, scale = guard_numbers(cell, float(tolerance[n]))
            guards.append(layer)
            limits.append(limit)
            excess.append(np.stack([slack, broken * scale], axis=1))
    row[LAYERS], row[LAYERS_NEW], row[ITEM_AT] = stack.layers, len(stack.new), maps.items(stack.scope)
    row[STACK_VALUES] = maps.number.add(stack.values)
    row[ROW_KIND], row[ROW_MAP] = maps.add(stack.rows)
    row[GUARDED], row[GUARD] = len(guards), maps.index.add(np.array(guards, dtype=np.int64))
    row[CURVES], row[CURVE] = len(curves), maps.index.add(np.array(curves, dtype=np.int64))
    row[LIMIT], row[EXCESS] = maps.number.add(_by_row(limits)), maps.number.add(_by_row(excess))
    row[WEIGHT], row[CURVE_OF_ROW] = maps.number.add(np.array(weights)), maps.number.add(_by_row(of_row))


def _by_row(parts: list[Floats]) -> Floats:
    """Return (rows, parts, ...): the parts of a row side by side."""
    return np.stack(parts, axis=1) if parts else np.zeros(0)


def start(
    tables: Tables, graph: Graph, values: list[CellValue], initial: Ints, assignment: Ints, goals: Sequence[Total]
) -> State:
    """Return the state of an assignment, from its fully computed cells."""
    sizes = lay_out(graph, int(tables.node[0, LEVELS]))
    state = State(whole=np.zeros(sizes.whole, dtype=np.int64), part=np.zeros(sizes.part))
    state.whole[: len(assignment)] = assignment
    for n, (cell, value) in enumerate(zip(graph.cells, values, strict=True), 1):
        if n <= graph.stacked:
            continue
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
    for stack, (at, until, _, _) in zip(graph.stacks, sizes.stacks, strict=True):
        state.part[at:until] = stack.held(initial, assignment).ravel()
    for goal in goals:
        state.part[goal.level] += goal.weight * values[goal.cell].total
    return state


def _readers(graph: Graph, goals: Sequence[Total], maps: Maps) -> list[list[Reader]]:
    """Return the readers of each cell: cells, and levels as -1 - level."""
    readers: list[list[Reader]] = [[] for _ in graph.cells]
    for target, cell in enumerate(graph.cells):
        for link in cell.links:
            readers[link.source].append((target, link.coefficient, maps.add(link.rows), maps.add(link.columns)))
    for goal in goals:
        readers[goal.cell].append((-1 - goal.level, goal.weight, (ALL, 0), (ALL, 0)))
    return readers


def _distinct(columns: list[Floats]) -> tuple[Floats, list[int]]:
    """Return the distinct columns side by side, (N, D), and the number of each given column among them."""
    known: dict[bytes, int] = {}
    which = [known.setdefault(column.tobytes(), len(known)) for column in columns]
    kept = [np.frombuffer(data) for data in known]
    return (np.ascontiguousarray(np.stack(kept, axis=1)) if kept else np.zeros((0, 0))), which
