"""Group cells into stacks, and make the arrays of each: see stack.py for stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from libs.assignment.graph.cell import Cell, Leaf, scale_of_rows
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.language.scope import Scope

Levels = Sequence[tuple[int, float]]
"""The levels that read a cell, with the weight of its total."""


@dataclass(slots=True, kw_only=True, eq=False)
class Stack:
    """Cells over the same rows.

    rows    (rows, C) 0 or 1
    scope   the scope whose items decide whether an object has moved
    new     values (N,) of each layer that counts only moved objects; `after`: likewise for layers that count all
            objects
    cells   for each cell: the cell, whether its layer is in `new`, and the layer's number in `new` or `after`
    """

    rows: Matrix
    scope: Scope
    row: Ints
    new: list[Floats] = field(default_factory=list)
    after: list[Floats] = field(default_factory=list)
    cells: list[tuple[int, bool, int]] = field(default_factory=list)

    @property
    def layers(self) -> int:
        """Return the number of layers."""
        return len(self.new) + len(self.after)

    @property
    def values(self) -> Floats:
        """Return the values, (N, layers)."""
        return np.ascontiguousarray(np.stack([*self.new, *self.after], axis=1))

    def layer(self, new: bool, k: int) -> int:
        """Return the position of a layer among all layers of the stack."""
        return k if new else len(self.new) + k

    def held(self, initial: Ints, assignment: Ints) -> Floats:
        """Return the amount of each layer in each row under an assignment, (rows, layers)."""
        row, item = self.row[assignment], self.scope.item
        inside, away = row >= 0, item[assignment] != item[initial]
        held = np.empty((self.rows.shape[0], self.layers))
        for k, values in enumerate([*self.new, *self.after]):
            who = inside & away if k < len(self.new) else inside
            held[:, k] = np.bincount(row[who], weights=values[who], minlength=len(held))
        return held


def plan_stacks(cells: Sequence[Cell]) -> list[Stack]:
    """Return stacks of cells, all stackable, in the order in which their rows occur."""
    stacks: dict[tuple[int, bytes, bytes], Stack] = {}
    for n, cell in enumerate(cells):
        leaf = cell.leaves[0]
        stack = _stack_for(stacks, leaf)
        new = leaf.flavour is Flavour.NEW
        layers = stack.new if new else stack.after
        known = next((k for k, values in enumerate(layers) if np.array_equal(values, leaf.values)), len(layers))
        if known == len(layers):
            layers.append(leaf.values)
        stack.cells.append((n, new, known))
    return list(stacks.values())


def _stack_for(stacks: dict[tuple[int, bytes, bytes], Stack], leaf: Leaf) -> Stack:
    """Return the stack with the same rows and the same scope of its layers."""
    pattern = csr((np.ones(leaf.rows.nnz), leaf.rows.indices, leaf.rows.indptr), shape=leaf.rows.shape)
    row = np.full(pattern.shape[1], -1, dtype=np.int64)
    row[pattern.indices] = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    key = (len(leaf.rows.indptr), row.tobytes(), leaf.scope.item.tobytes())
    if key not in stacks:
        stacks[key] = Stack(rows=pattern, scope=leaf.scope, row=row)
    return stacks[key]


def guard_numbers(cell: Cell, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """Return three arrays (rows,) of a hard cell: limits, tolerances, and weights of excess."""
    scale = _scale(cell)
    return -constant_of_rows(cell) / scale, tolerance / scale, scale


def curve_numbers(cell: Cell) -> Floats:
    """Return the constant and scale of a curve's argument, (rows, 2)."""
    return np.stack([constant_of_rows(cell), _scale(cell)], axis=1)


def constant_of_rows(cell: Cell) -> Floats:
    """Return the constant of a cell with one column, (rows,)."""
    constant: Floats = cell.by_row + cell.by_column[0]
    return constant if cell.grid is None else constant + np.asarray(cell.grid.toarray()[:, 0])


def _scale(cell: Cell) -> Floats:
    scale = scale_of_rows(cell.leaves[0])
    assert scale is not None
    return scale
