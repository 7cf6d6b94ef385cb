"""Turn expressions into cells: every linear expression is folded into the cell above it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.graph.cell import IDENTITY, MAX, Cell, Leaf, Link, is_simple, is_stackable
from libs.assignment.graph.equal_expressions import Fingerprint, Fingerprints
from libs.assignment.graph.stacking import Stack, plan_stacks
from libs.assignment.language.arrays import Floats
from libs.assignment.language.errors import ModelError
from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import Constant, Expression, Shape, Sum
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csr

DENSE_ELEMENTS_MAX = 4_000_000
"""A larger cell stores only the elements that differ from their empty value."""

STACKED, GUARDING, ADDING, OTHER = range(4)
"""Ways to settle cells. STACKED: in stacks. GUARDING: one by one, first, because they are hard or are read by other
cells. ADDING: one by one, last. OTHER: by lists of touched elements.
"""

Map = Matrix | None


class Graph:
    """A graph of cells, each of them after the cells that it reads.

    In a graph from `settled`, the first `stacked` cells are in stacks. The cells from there to `guards`, and on to
    `direct`, are settled one by one.
    """

    def __init__(self, containers: int, objects: int) -> None:
        self.containers, self.objects = containers, objects
        self.cells: list[Cell] = []
        self.stacked = self.guards = self.direct = 0
        self.stacks: list[Stack] = []
        self._known: dict[Fingerprint, int] = {}
        self._kept: list[Expression] = []
        self._fingerprints = Fingerprints()

    def add(self, expression: Expression, *, hard: bool = False) -> int:
        """Return the cell of an expression. Equal expressions share a cell."""
        self._kept.append(expression)  # an id is unique only while the expression lives
        fingerprint = self._fingerprints.of(expression)
        known = self._known.get(fingerprint)
        if known is None:
            known = self._make(expression)
            self._known[fingerprint] = known
        self.cells[known].hard |= hard
        return known

    def totals(self, cost: Expression) -> list[tuple[int, float]]:
        """Return cells with coefficients: their weighted totals add up to an expression of shape (1, 1)."""
        rest = _identity((1, 1))
        self._fold(rest, cost, 1.0, None, None)
        found, links = [], rest.links
        rest.links = []
        for link in links:
            by = _uniform(link.rows) * _uniform(link.columns)
            if np.isnan(by):
                rest.links.append(link)
            else:
                found.append((link.source, link.coefficient * by))
        if rest.leaves or rest.links or rest.by_row[0] or rest.by_column[0] or rest.grid is not None:
            found.append((self._finished(rest), 1.0))
        return found

    def settled(self, *, limited: bool = True) -> tuple[Graph, list[int]]:
        """Return a graph of the same cells in the order in which a search settles them, and the new place of each cell.

        Cells in stacks come first, then simple ones that are hard or read, then other simple ones. Cells that read
        others come last, with hard ones as early as possible, so that forbidden moves are found soon.

        limited  True: hard cells stay hard. False: every element may grow
        """
        read = {link.source for cell in self.cells for link in cell.links}
        cells = [replace(cell, hard=cell.hard and limited) for cell in self.cells]
        order = sorted(range(len(cells)), key=lambda n: (*_kind(cells[n], read=n in read), n))
        place = [0] * len(order)
        for new, old in enumerate(order):
            place[old] = new
        found = Graph(self.containers, self.objects)
        found.cells = [
            replace(cells[old], links=[replace(link, source=place[link.source]) for link in cells[old].links])
            for old in order
        ]
        kinds = [_kind(cells[old], read=old in read)[0] for old in order]
        found.stacked, found.guards, found.direct = (sum(kind <= k for kind in kinds) for k in range(OTHER))
        found.stacks = plan_stacks(found.cells[: found.stacked])
        return found, place

    def _make(self, expression: Expression) -> int:
        inside, function, parameter, over, apply = expression, IDENTITY, 0.0, None, None
        if isinstance(expression, Elementwise):
            inside, function, parameter = expression.child, expression.CODE, expression.parameter
            apply = expression.of
        elif isinstance(expression, Max):
            inside, function, parameter, over = expression.child, MAX, float(expression.n), expression.over
        rows, columns = inside.shape
        cell = _identity(inside.shape)
        cell.function, cell.parameter, cell.apply, cell.over = function, parameter, apply, over
        if over is not None and not cell.dense:
            raise ModelError(f"a maximum over {rows} x {columns} values is too large; take it over fewer groups")
        self._fold(cell, inside, 1.0, None, None)
        return self._finished(cell)

    def _finished(self, cell: Cell) -> int:
        if 0 in cell.shape:  # a sparse map onto no rows may still name a column, and kernels do not check
            cell.leaves, cell.links = [], []
        self._merge_leaves(cell)
        cell.depth = max((self.cells[link.source].depth + 1 for link in cell.links), default=0)
        self.cells.append(cell)
        return len(self.cells) - 1

    def _fold(self, cell: Cell, expression: Expression, coefficient: float, rows: Map, columns: Map) -> None:
        """Add coefficient * rows @ expression @ columns.T to a cell's argument."""
        if _spreads(rows) and not isinstance(expression, Constant):
            source = self.add(expression)
            cell.links.append(Link(source=source, coefficient=coefficient, rows=rows, columns=columns))
        elif isinstance(expression, Sum):
            for term in expression.terms:
                over, across = _product(rows, term.rows), _product(columns, term.columns)
                self._fold(cell, term.child, coefficient * term.coefficient, over, across)
        elif isinstance(expression, Constant):
            _add_constant(cell, expression, coefficient, rows, columns)
        elif isinstance(expression, Lookup) and not _spreads(columns):
            self._fold_lookup(cell, expression, coefficient, rows, columns)
        else:
            source = self.add(expression)
            cell.links.append(Link(source=source, coefficient=coefficient, rows=rows, columns=columns))

    def _fold_lookup(self, cell: Cell, lookup: Lookup, coefficient: float, rows: Map, columns: Map) -> None:
        """Fold a lookup as AFTER, NEW, OLD and constants; see `_in_terms_of`."""
        flavour = lookup.flavour
        if flavour in (Flavour.STAYED, Flavour.ANY):
            for part, by in _in_terms_of(lookup):
                self._fold_lookup(cell, replace(lookup, flavour=part), by * coefficient, rows, columns)
            return
        if flavour is Flavour.INITIAL:
            at_first = lookup.utilisation(lookup.initial)
            over, across = _product(rows, at_first), columns
            moved = at_first if over is None else over
            _add_pairs(cell, coefficient * (moved if across is None else moved @ across.T))
            return
        dimension, everyone = lookup.dimension, lookup.partition is None
        by_container = lookup.scope.matrix()
        over = by_container if rows is None else rows @ by_container
        scale = coefficient
        across = None
        if not everyone:
            matrix = lookup.partition.matrix if lookup.partition is not None else None
            across = matrix if columns is None else csr(columns @ matrix)
            if across is not None and across.shape[0] == 1 and across.nnz == self.objects and (across.data == 1).all():
                across = None
        elif columns is not None:
            scale *= float(columns.sum())
        cell.leaves.append(
            Leaf(
                rows=csr(over),
                columns=across,
                values=dimension.objects * scale,
                factor=dimension.by_item,
                flavour=flavour,
                scope=lookup.scope,
            )
        )

    def _merge_leaves(self, cell: Cell) -> None:
        """Merge leaves that differ only in their values."""
        merged: list[Leaf] = []
        for leaf in cell.leaves:
            for k, other in enumerate(merged):
                alike = leaf.factor is None and other.factor is None and leaf.flavour is other.flavour
                alike = alike and leaf.scope is other.scope and _same(leaf.rows, other.rows)
                if alike and _same(leaf.columns, other.columns):
                    merged[k] = Leaf(
                        rows=leaf.rows,
                        columns=leaf.columns,
                        values=leaf.values + other.values,
                        factor=None,
                        flavour=leaf.flavour,
                        scope=leaf.scope,
                    )
                    break
            else:
                merged.append(leaf)
        cell.leaves = merged


def _in_terms_of(lookup: Lookup) -> tuple[tuple[Flavour, float], ...]:
    """Return a lookup of STAYED or ANY as a sum of lookups with other flavours.

    STAYED = INITIAL - OLD,  ANY = INITIAL + NEW    if an object counts the same in all containers of an item
    STAYED = AFTER - NEW,    ANY = AFTER + OLD      else
    """
    item, factor = lookup.scope.item, lookup.dimension.by_item
    alike = factor is None
    if factor is not None:
        inside = np.flatnonzero(item >= 0)
        of_item = np.zeros(len(lookup.scope), dtype=np.int64)
        of_item[item[inside]] = factor.scope.item[inside]
        alike = bool((of_item[item[inside]] == factor.scope.item[inside]).all())
    if lookup.flavour is Flavour.STAYED:
        return ((Flavour.INITIAL, 1.0), (Flavour.OLD, -1.0)) if alike else ((Flavour.AFTER, 1.0), (Flavour.NEW, -1.0))
    return ((Flavour.INITIAL, 1.0), (Flavour.NEW, 1.0)) if alike else ((Flavour.AFTER, 1.0), (Flavour.OLD, 1.0))


def _kind(cell: Cell, *, read: bool) -> tuple[int, int, bool]:
    """Return the way in which a cell is settled, and its order among such cells: by depth, hard unread ones first."""
    if is_simple(cell):
        if not read and is_stackable(cell):
            return STACKED, 0, False
        return (GUARDING if read or cell.hard else ADDING), int(read), not cell.hard
    return OTHER, cell.depth, not cell.hard


def _identity(shape: Shape) -> Cell:
    rows, columns = shape
    return Cell(
        function=IDENTITY,
        parameter=0.0,
        apply=None,
        shape=shape,
        by_row=np.zeros(rows),
        by_column=np.zeros(columns),
        dense=rows * columns <= DENSE_ELEMENTS_MAX,
    )


def _uniform(given: Map) -> float:
    """Return the factor that all sources of a map to one place share; nan if their factors differ."""
    if given is None:
        return 1.0
    if not given.nnz:
        return 0.0
    alike = given.nnz == given.shape[1] and (given.data == given.data[0]).all()
    return float(given.data[0]) if alike else np.nan


def _product(left: Map, right: Map) -> Map:
    if left is None or right is None:
        return right if left is None else left
    return csr(left @ right)


def _same(one: Map, other: Map) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or (one.shape == other.shape and one.nnz == other.nnz and abs(one - other).nnz == 0)


def _spreads(columns: Map) -> bool:
    """Return whether a map makes many columns of one, so that every object would be listed in each of them."""
    return columns is not None and columns.shape[1] == 1 and columns.shape[0] > 1


def _add_pairs(cell: Cell, pairs: Matrix) -> None:
    cell.grid = csr(pairs) if cell.grid is None else csr(cell.grid + pairs)


def _add_constant(cell: Cell, constant: Constant, coefficient: float, rows: Map, columns: Map) -> None:
    """Add coefficient * rows @ constant @ columns.T to the constant of `cell`.

    The element of `constant` in row r and column c is by_row[r] + by_column[c] + pairs[r, c]. The part of `by_row` and
    the part of `by_column` are added as vectors if possible, because a matrix of all elements may be too large.

    rows, columns   linear maps from rows and columns of `constant` to those of the cell; None: the identity
    """
    weight_of_row = _sums(rows, cell.shape[0])
    weight_of_column = _sums(columns, cell.shape[1])
    _add_outer(cell, _through(rows, constant.by_row), weight_of_column, coefficient)
    _add_outer(cell, weight_of_row, _through(columns, constant.by_column), coefficient)
    if constant.pairs is not None:
        over = constant.pairs if rows is None else rows @ constant.pairs
        _add_pairs(cell, coefficient * csr(over if columns is None else over @ columns.T))


def _sums(given: Map, size: int) -> Floats:
    return np.ones(size) if given is None else np.asarray(given.sum(axis=1), dtype=np.float64).ravel()


def _through(given: Map, values: Floats) -> Floats:
    return values if given is None else np.asarray(given @ values, dtype=np.float64)


def _add_outer(cell: Cell, of_row: Floats, of_column: Floats, coefficient: float) -> None:
    """Add coefficient * of_row[r] * of_column[c]."""
    if not of_row.any() or not of_column.any():
        return
    if (of_column == of_column[0]).all():
        cell.by_row = cell.by_row + coefficient * of_column[0] * of_row
    elif (of_row == of_row[0]).all():
        cell.by_column = cell.by_column + coefficient * of_row[0] * of_column
    elif cell.dense:
        _add_pairs(cell, coefficient * csr(np.outer(of_row, of_column)))
    else:
        raise ModelError(
            f"a constant over {cell.shape[0]} x {cell.shape[1]} values is too large; give it by row or by column"
        )
