"""Compute lower bounds of levels from totals. They are cheap, and often prove that a search is done."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import IDENTITY, MAX, POSITIVE_PART, POWER, Cell, Leaf, Total, never_negative
from libs.assignment.graph.linear import Graph
from libs.assignment.language.expressions.max import Over
from libs.assignment.language.flavour import Flavour


def least_levels(graph: Graph, goals: Sequence[Total], levels: int) -> tuple[float, ...]:
    """Return a lower bound of each level, (levels,): the sum over its cells; -inf if a cell has no bound."""
    least = np.zeros(levels)
    bounds: dict[int, float] = {}
    for goal in goals:
        if goal.weight == 0:
            continue
        if goal.cell not in bounds:
            bounds[goal.cell] = least_total(graph, graph.cells[goal.cell])
        least[goal.level] += goal.weight * bounds[goal.cell] if goal.weight > 0 else -np.inf
    return tuple(map(float, least))


def least_total(graph: Graph, cell: Cell) -> float:
    """Return a lower bound of the total of a cell, the sum of its elements.

        sum_r max(0, x_r)  >=  max(0, sum_r x_r)                       the positive parts add up to at least the sum
        sum_r max(0, x_r)^p  >=  n (max(0, sum_r x_r) / n)^p, p >= 1   least if all n are equal (Jensen)

    The sum of x is the same for every assignment if each object counts in one element wherever it is. A linear cell is
    at least its constant if moves can only add to it.
    """
    if cell.function in (POSITIVE_PART, POWER) and cell.dense:
        return _least_excess(cell)
    if never_negative(cell):
        return 0.0
    if cell.function == IDENTITY and cell.dense and not cell.links:
        return _constant(cell) + sum(least_leaf(leaf) for leaf in cell.leaves)
    if cell.function == MAX and cell.over is Over.ALL and not cell.leaves and _sum_of_parts(graph, cell):
        return _constant_at_least(cell)
    return -np.inf


def _least_excess(cell: Cell) -> float:
    total, elements = _constant_total(cell), cell.shape[0] * cell.shape[1]
    if not elements or total is None or (cell.function == POWER and cell.parameter < 1):
        return 0.0
    power = cell.parameter if cell.function == POWER else 1.0
    return float(elements * (max(total, 0.0) / elements) ** power)


def _constant_total(cell: Cell) -> float | None:
    """Return the sum of a cell's x if it does not depend on the assignment, else None."""
    if cell.links or not all(_counts_once(leaf) for leaf in cell.leaves):
        return None
    total = _constant(cell)
    for leaf in cell.leaves:
        by_object = np.ones(len(leaf.values)) if leaf.columns is None else np.asarray(leaf.columns.sum(axis=0))
        total += float(leaf.rows.data[0]) * float(leaf.values @ by_object)
    return total


def _counts_once(leaf: Leaf) -> bool:
    """Return whether an object counts the same in all containers."""
    if leaf.flavour is not Flavour.AFTER or leaf.factor is not None or not leaf.rows.nnz:
        return False
    by_container = np.asarray(leaf.rows.sum(axis=0))
    return bool((by_container == by_container[0]).all() and (leaf.rows.data == leaf.rows.data[0]).all())


def least_leaf(leaf: Leaf, weight: float = 1.0) -> float:
    """Return the least amount that a leaf adds to `weight` times a cell's total."""
    if not len(leaf.values):
        return 0.0
    by_object = weight * leaf.values * (1.0 if leaf.columns is None else np.asarray(leaf.columns.sum(axis=0)))
    by_container = np.asarray(leaf.rows.sum(axis=0))
    if leaf.factor is None:
        ends = np.stack([by_object * by_container.min(), by_object * by_container.max()])
        if leaf.flavour is not Flavour.AFTER:
            ends = np.minimum(ends, 0.0)
        return float(ends.min(axis=0).sum())
    table, item = leaf.factor.table[leaf.factor.classes], leaf.factor.scope.item
    inside = np.flatnonzero(item >= 0)
    if not len(inside):  # a factor is 0 outside the items of its scope
        return 0.0
    scales = [0.0, float(by_container[inside].min(initial=0.0)), float(by_container[inside].max(initial=0.0))]
    worst = np.full(len(by_object), np.inf)
    nowhere = len(inside) < len(item) or leaf.flavour is not Flavour.AFTER
    for scale in scales if nowhere else scales[1:]:
        worst = np.minimum(worst, (by_object[:, None] * table * scale).min(axis=1))
    return float(worst.sum())


def _sum_of_parts(graph: Graph, cell: Cell) -> bool:
    """Return whether a cell adds up only nonnegative cells, with nonnegative coefficients."""
    return all(link.coefficient >= 0 and never_negative(graph.cells[link.source]) for link in cell.links) and all(
        given is None or (given.data >= 0).all() for link in cell.links for given in (link.rows, link.columns)
    )


def _constant(cell: Cell) -> float:
    rows, columns = cell.shape
    total = columns * cell.by_row.sum() + rows * cell.by_column.sum()
    return float(total + (0.0 if cell.grid is None else cell.grid.sum()))


def _constant_at_least(cell: Cell) -> float:
    """Return the largest constant of a cell's elements: a lower bound of their maximum."""
    if cell.parameter:
        return -np.inf
    base = cell.by_row[:, None] + cell.by_column[None, :]
    return float((base if cell.grid is None else base + cell.grid.toarray()).max())
