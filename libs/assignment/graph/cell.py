"""Define cells, the compiled form of expressions: a function applied to a linear combination.

A cell has a matrix of elements. The combination adds up a constant, leaves and links. A leaf is a term that reads the
assignment of objects to containers. A link is a term that reads the value of another cell. A map is a sparse matrix
from the rows, or columns, that a term reads to the rows, or columns, of the cell.
"""

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
    """A term of a cell that reads the assignment: rows @ A @ columns.T, (rows, columns).

    A is a matrix of C containers and N objects. A[c, o] is values[o], times the factor of object o in container c, if
    object o counts in container c. Otherwise A[c, o] is 0.

    rows     (rows, C) the map from containers to the rows of the cell
    columns  (columns, N) the map from objects to the columns of the cell; None: the cell has one column for all objects
    values   (N,) the value of each object
    factor   the factor for each pair of object and container; None: 1 for all pairs
    flavour  AFTER: an object counts in its container. NEW: it counts in its container only if it has left its scope
             item. OLD: it counts in its first container only if it has left its scope item. All other flavours are
             sums of these and constants
    scope    the scope whose items decide whether an object has left
    """

    rows: Matrix
    columns: Matrix | None
    values: Floats
    factor: ByItem | None
    flavour: Flavour
    scope: Scope

    def contribution(self, initial: Ints, assignment: Ints) -> Matrix:
        """Return what the leaf adds to the cell's combination under an assignment, (rows, columns)."""
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
    """A cell: the function of the sum of a constant, leaves and links, for each element of the matrix `shape`.

    A cell with the function MAX instead has the n-th largest element over rows, over columns, or over all elements.

    function, parameter      the code of the function, and the parameter of the function (such as an exponent)
    apply                    the function for whole arrays; None: IDENTITY or MAX
    over                     the direction of a MAX cell; None: any other function
    by_row, by_column, grid  the constant of the element in row r and column c is by_row[r] + by_column[c] + grid[r, c]
    dense                    whether all elements are stored; else only elements that differ from by_row[r] +
                             by_column[c] are stored
    hard                     whether the value of each element must never grow
    depth                    number of cells on the longest path of links below the cell
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
        """Return the shape of the value of the cell. It is `shape`, or smaller for a MAX cell."""
        if self.over is None:
            return self.shape
        return (
            1 if self.over is not Over.COLUMNS else self.shape[0],
            1 if self.over is not Over.ROWS else self.shape[1],
        )


class Total(NamedTuple):
    """A part of a level: `weight` times the sum of the elements of a cell."""

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
    """Return whether a simple cell can be a layer of a stack, if only levels read it: see stack.py."""
    if not is_simple(cell) or len(cell.leaves) != 1 or (cell.hard and cell.function != POSITIVE_PART):
        return False
    leaf = cell.leaves[0]
    plain = leaf.columns is None and leaf.factor is None and leaf.flavour in (Flavour.AFTER, Flavour.NEW)
    return plain and scale_of_rows(leaf) is not None


def fan(matrix: Matrix | None) -> int:
    """Return the largest number of targets that a source has in a map."""
    if matrix is None:
        return 1
    return int(np.bincount(matrix.indices, minlength=1).max(initial=0))
