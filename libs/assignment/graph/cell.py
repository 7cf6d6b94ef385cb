"""Define cells, the compiled form of expressions: a function applied to a linear combination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from libs.assignment.kernels.sizes import LEAVES_MAX
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.dimension import ByItem
from libs.assignment.language.expressions.expression import Shape
from libs.assignment.language.expressions.max import Over
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.language.scope import Scope

IDENTITY, POSITIVE_PART, STEP, CEIL, LOG, POWER, MAX = range(7)
"""Functions by their codes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leaf:
    """The direct effect of the assignment on a cell: rows @ (containers x objects) @ columns.T.

    rows     (rows, C)
    columns  (columns, N); None: all objects in one column
    values   (N,) multiplied by the factor for the container, if there is one
    flavour  AFTER, NEW or OLD; the others are sums of these and constants
    scope    its items decide NEW and OLD
    """

    rows: Matrix
    columns: Matrix | None
    values: Floats
    factor: ByItem | None
    flavour: Flavour
    scope: Scope

    def contribution(self, initial: Ints, assignment: Ints) -> Matrix:
        """Return the contribution (rows, columns), computed in full."""
        before, after = self.scope.item[initial], self.scope.item[assignment]
        counts: Bools = np.ones(len(initial), dtype=np.bool_) if self.flavour is Flavour.AFTER else before != after
        where = initial if self.flavour is Flavour.OLD else assignment
        who = np.flatnonzero(counts)
        values = self.values[who]
        if self.factor is not None:
            values = values * self.factor.of(who, where[who])
        held = csr((values, (where[who], who)), shape=(self.rows.shape[1], len(initial)))
        columns = np.ones((len(initial), 1)) if self.columns is None else self.columns.T
        return csr(self.rows @ (held @ columns))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """The effect of another cell's value on a cell: coefficient * rows @ value @ columns.T."""

    source: int
    coefficient: float
    rows: Matrix | None
    columns: Matrix | None


@dataclass(slots=True, kw_only=True, eq=False)
class Cell:
    """function(constant + leaves + links), element by element. A MAX cell gives the n-th largest over rows, columns or
    all.

    by_row, by_column, grid  the constant: by_row[r] + by_column[c] + grid[r, c]
    apply                    the function for whole arrays; None: IDENTITY or MAX
    dense                    all elements are stored; else only those that differ from by_row[r] + by_column[c]
    hard                     no element's value may ever grow
    """

    function: int
    parameter: float
    apply: Callable[[Floats, float], Floats] | None
    shape: Shape
    over: Over | None = None
    by_row: Floats
    by_column: Floats
    grid: Matrix | None = None
    leaves: list[Leaf] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    dense: bool = True
    hard: bool = False
    depth: int = 0

    @property
    def out_shape(self) -> Shape:
        """Return the shape of its value."""
        if self.over is None:
            return self.shape
        return (
            1 if self.over is not Over.COLUMNS else self.shape[0],
            1 if self.over is not Over.ROWS else self.shape[1],
        )


class Total(NamedTuple):
    """A level contains weight * (sum of a cell's elements)."""

    cell: int
    level: int
    weight: float


def never_negative(cell: Cell) -> bool:
    """Return whether a cell's value is nonnegative for every assignment."""
    return cell.function in (POSITIVE_PART, STEP, LOG, POWER)


def is_simple(cell: Cell) -> bool:
    """Return whether a cell reads only the assignment, and each object in one element at a time."""
    if cell.links or not cell.dense or cell.over is not None or len(cell.leaves) > LEAVES_MAX:
        return False
    return all(fan(leaf.rows) == 1 and (leaf.columns is None or fan(leaf.columns) == 1) for leaf in cell.leaves)


def scale_of_rows(leaf: Leaf) -> Floats | None:
    """Return the positive factor of each row, (rows,); None if a row has several factors."""
    entries = leaf.rows
    lengths = np.diff(entries.indptr)
    scale = np.ones(entries.shape[0])
    filled = lengths > 0
    scale[filled] = entries.data[entries.indptr[:-1][filled]]
    alike = (entries.data == np.repeat(scale, lengths)).all() and (scale > 0).all()
    return scale if alike else None


def is_stackable(cell: Cell) -> bool:
    """Return whether a simple cell that only levels read can be a layer of a stack: see stack.py."""
    if not is_simple(cell) or len(cell.leaves) != 1 or (cell.hard and cell.function != POSITIVE_PART):
        return False
    leaf = cell.leaves[0]
    plain = leaf.columns is None and leaf.factor is None and leaf.flavour in (Flavour.AFTER, Flavour.NEW)
    return plain and scale_of_rows(leaf) is not None


def fan(matrix: Matrix | None) -> int:
    """Return the largest number of targets of a source of a map."""
    if matrix is None:
        return 1
    return int(np.bincount(matrix.indices, minlength=1).max(initial=0))
