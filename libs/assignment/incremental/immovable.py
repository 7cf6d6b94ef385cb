"""Find the objects that may move: those that no hard constraint keeps in place."""

from __future__ import annotations

import numpy as np

from libs.assignment.graph.cell import POSITIVE_PART, Cell, Leaf, fan
from libs.assignment.graph.linear import Graph
from libs.assignment.graph.reach import reaches, tolerance_of
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.flavour import Flavour

PLACES_MAX = 20_000_000
"""Most entries (classes of a factor times containers) of a table; a larger one is skipped."""


def movable_objects(graph: Graph, initial: Ints, start: Ints) -> Ints:
    """Return in order the objects that a search may move. An object that a hard cell forbids in all other containers is
    left out.

    A cell counts if it holds at the start and only adds up. Then its element is at least constant + value of the
    object, independently of other objects. If that is above 0, the object may not go there.
    """
    if graph.containers < 2:
        return np.zeros(0, dtype=np.int64)
    free: Bools = np.ones(graph.objects, dtype=np.bool_)
    for cell, reach in zip(graph.cells, reaches(graph.cells), strict=True):
        if cell.hard and _adds_up(cell):
            slack = tolerance_of(cell, reach) - cell.by_row - cell.by_column[0]
            if _holds(cell, slack, initial, start):
                free &= ~_kept(cell.leaves[0], slack, initial, start)
    return np.flatnonzero(free)


def _adds_up(cell: Cell) -> bool:
    """Return whether a cell is a constant of rows plus one leaf without negative numbers."""
    if cell.function != POSITIVE_PART or cell.over is not None or cell.links or len(cell.leaves) != 1:
        return False
    leaf = cell.leaves[0]
    positive = (leaf.values >= 0).all() and (leaf.rows.data >= 0).all()
    positive = positive and (leaf.columns is None or (leaf.columns.data >= 0).all())
    positive = positive and (leaf.factor is None or (leaf.factor.table >= 0).all())
    even = cell.grid is None and len(cell.by_column) > 0 and (cell.by_column == cell.by_column[0]).all()
    return bool(positive and even and fan(leaf.columns) <= 1)


def _holds(cell: Cell, slack: Floats, initial: Ints, start: Ints) -> bool:
    """Return whether no element is broken at the start; slack (rows,) is the room of each."""
    if (slack < 0).any():
        return False
    held = cell.leaves[0].contribution(initial, start)
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    return bool((held.data <= slack[rows]).all())


def _kept(leaf: Leaf, slack: Floats, initial: Ints, start: Ints) -> Bools:
    """Return the objects that a cell keeps in their containers, (N,)."""
    values = leaf.values if leaf.columns is None else leaf.values * np.asarray(leaf.columns.sum(axis=0))
    most = _most_there(leaf, slack)
    if most is None or (leaf.flavour is Flavour.AFTER and fan(leaf.rows) > 1):
        return np.zeros(len(values), dtype=np.bool_)
    group = _rows_of(leaf) if leaf.flavour is Flavour.AFTER else leaf.scope.item
    kind = np.zeros(len(values), dtype=np.int64) if leaf.factor is None else leaf.factor.classes
    at = start if leaf.flavour is Flavour.AFTER else initial
    alone = np.bincount(group + 1, minlength=group.max() + 2)[group + 1] == 1
    if leaf.flavour is Flavour.OLD:
        return np.asarray((values > most[kind, at]) & alone[at], dtype=np.bool_)
    best = np.argmax(most, axis=1)
    others = most.copy()
    others[np.arange(len(most)), best] = -np.inf
    elsewhere = np.where(best[kind] == at, others.max(axis=1)[kind], most.max(axis=1)[kind])
    return np.asarray((values > elsewhere) & alone[at], dtype=np.bool_)


def _most_there(leaf: Leaf, slack: Floats) -> Floats | None:
    """Return the largest value that an object may have in each container, (classes of the factor or 1, C); None: too
    large.
    """
    entries = leaf.rows.tocoo()
    rows, containers = entries.coords
    if leaf.factor is None:
        by = np.ones((1, leaf.rows.shape[1]))
    elif len(leaf.factor.table) * leaf.rows.shape[1] > PLACES_MAX:
        return None
    else:
        by = leaf.factor.by_container()
    room = np.full(leaf.rows.shape[1], np.inf)
    counted = entries.data > 0
    np.minimum.at(room, containers[counted], slack[rows[counted]] / entries.data[counted])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by > 0, room / by, np.inf)


def _rows_of(leaf: Leaf) -> Ints:
    """Return the row of each container, or -1, (C,)."""
    row = np.full(leaf.rows.shape[1], -1, dtype=np.int64)
    row[leaf.rows.indices] = np.repeat(np.arange(leaf.rows.shape[0]), np.diff(leaf.rows.indptr))
    return row
