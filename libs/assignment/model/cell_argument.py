"""Build the argument of each cell's function, as linear functions of the columns of a model.

Cells, leaves and links are defined in graph/cell.py. A leaf is a term of the argument that reads the assignment. A link
is a term that reads the value of an earlier cell. A count is the number of objects of one class in one container.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import Cell, Leaf, Link
from libs.assignment.graph.full_evaluation import empty_part, empty_value
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import NotLowerable
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csc, csr
from libs.assignment.model.affine import Affine
from libs.assignment.model.assembly import Assembly
from libs.assignment.model.entries import outer_entries
from libs.assignment.model.movement import Movement

Entries = tuple[Ints, Ints, Floats]
"""Entries of a matrix: for each entry the key of the element, the column, and the coefficient.

The key of the element in row r and column c of a cell is r * (number of columns) + c.
"""


class Arguments:
    """A builder of arguments, cell by cell, from the values of earlier cells.

    a        the model under construction
    moved    the classes of objects, and the leaves of each cell in terms of them
    leave    (J,) the number of the column that counts how many objects of each subclass leave
    initial  (N,) the container of each object at the start
    cells    all cells, in an order in which each cell comes after the cells that it reads
    """

    def __init__(self, a: Assembly, moved: Movement, leave: Ints, initial: Ints, cells: Sequence[Cell]) -> None:
        self.a, self.moved, self.leave, self.initial, self.cells = a, moved, leave, initial, cells

    def of(self, number: int, values: Sequence[Affine]) -> Affine:
        """Return the argument of the cell `number`: the sum of its constant, leaves and links.

        values  the value of each earlier cell
        """
        cell = self.cells[number]
        rows, columns = cell.shape
        base = cell.by_row[:, None] + cell.by_column[None, :] if cell.dense else None
        parts: list[Entries] = []
        fixed = csr((rows, columns)) if cell.grid is None else cell.grid
        errors: list[tuple[Ints, Floats]] = []
        for leaf in self.moved.leaves[number]:
            entries, constant = self._leaf(leaf, columns)
            parts.append(entries)
            if constant is not None:
                fixed = fixed + csr((constant[1], (constant[0] // columns, constant[0] % columns)), shape=cell.shape)
        for link in cell.links:
            value = values[link.source]
            entries, error = self._link(link, value, columns)
            parts.append(entries)
            errors.append(error)
            everywhere, somewhere = self._numbers(link, value, cell)
            base = base if base is None else base + everywhere
            fixed = fixed + somewhere
        return self._gathered(cell, base, csr(fixed), parts, errors)

    def _gathered(
        self,
        cell: Cell,
        base: Floats | None,
        fixed: Matrix,
        parts: list[Entries],
        errors: list[tuple[Ints, Floats]],
    ) -> Affine:
        columns = cell.shape[1]
        none = np.zeros(0, dtype=np.int64)
        key = np.concatenate([part[0] for part in parts]) if parts else none
        column = np.concatenate([part[1] for part in parts]) if parts else none
        by = np.concatenate([part[2] for part in parts]) if parts else np.zeros(0)
        some = by != 0
        key, column, by = key[some], column[some], by[some]
        held = csr(fixed).tocoo()
        place = held.coords[0].astype(np.int64) * columns + held.coords[1]
        # also for elements that no column reaches any more
        wrong = np.concatenate([at for at, _ in errors]) if errors else none
        if base is not None:
            keys, element = np.unique(np.concatenate([key, wrong]), return_inverse=True)
            rest = base.ravel().copy()
            np.add.at(rest, place, held.data)
            constant = rest[keys]
        else:
            keys, element = np.unique(np.concatenate([key, wrong, place]), return_inverse=True)
            rest = None
            constant = cell.by_row[keys // columns] + cell.by_column[keys % columns]
            np.add.at(constant, element[len(key) + len(wrong) :], held.data)
        element = element[: len(key)]
        error = np.zeros(len(keys))
        for at, amount in errors:
            np.add.at(error, np.searchsorted(keys, at), amount)
        matrix = csr((by, (element, column)), shape=(len(keys), self.a.width))
        matrix.sum_duplicates()
        return self._settled(
            Affine(shape=cell.shape, keys=keys, matrix=matrix, constant=constant, error=error, rest=rest)
        )

    def _settled(self, x: Affine) -> Affine:
        """Return `x` with constants in place of elements that have the same value for all counts.

        An example is the average over all containers.
        """
        least, most = self.a.bounds_of(x)
        size = np.maximum(np.abs(x.constant), np.abs(most))
        number = most - least <= 1e-12 * np.maximum(size, 1e-300)
        if not number.any():
            return x
        wide = np.diff(x.matrix.indptr)
        x.matrix.data[np.repeat(number, wide)] = 0.0
        x.matrix.eliminate_zeros()
        constant = np.where(number, (least + most) / 2, x.constant)
        return Affine(shape=x.shape, keys=x.keys, matrix=x.matrix, constant=constant, error=x.error, rest=x.rest)

    def _leaf(self, leaf: Leaf, width: int) -> tuple[Entries, tuple[Ints, Floats] | None]:
        """Return the entries of a leaf in the argument of its cell, and the constant part of the leaf.

        The constant part has keys and values of elements; it is None if there is no constant.

        width  the number of columns of the cell
        """
        if leaf.flavour is Flavour.AFTER:
            return self._counted(leaf, width), None
        if self.moved.split:
            return self._split(leaf, width), None
        left = self._placed(leaf, self.moved.representative, self.moved.container, self.leave, width)
        if leaf.flavour is Flavour.OLD:
            return left, None
        counted = self._counted(leaf, width)
        held = self._placed(leaf, self.moved.representative, self.moved.container, np.arange(len(self.leave)), width)
        entries = tuple(np.concatenate(pair) for pair in zip(counted, left, strict=True))
        constant = (held[0], -held[2] * self.moved.size[held[1]])
        return (entries[0], entries[1], entries[2]), constant

    def _counted(self, leaf: Leaf, width: int) -> Entries:
        """Return the entries by which the counts determine the leaf `leaf`, as if each object counted wherever it is.

        width  the number of columns of the leaf's cell
        """
        counts = self.a.counts
        who = self.moved.classes.representative[counts.kind]
        return self._placed(leaf, who, counts.container, np.arange(len(who)), width)

    def _placed(self, leaf: Leaf, who: Ints, where: Ints, column: Ints, width: int) -> Entries:
        """Return the entries of a leaf over some columns of the model.

        Column column[i] counts objects like object who[i] in container where[i].

        width  the number of columns of the leaf's cell
        """
        each = leaf.values[who]
        if leaf.factor is not None:
            each = each * leaf.factor.of(who, where)
        some = np.flatnonzero(each)
        across = np.zeros(len(some), dtype=np.int64) if leaf.columns is None else who[some]
        key, source, by = outer_entries(leaf.rows, where[some], leaf.columns, across, width)
        return key, column[some[source]], by * each[some[source]]

    def _split(self, leaf: Leaf, width: int) -> Entries:
        """Return the entries of a NEW or OLD leaf over the counts, if all objects of a class start in one container.

        width  the number of columns of the leaf's cell
        """
        counts = self.a.counts
        who = self.moved.classes.representative[counts.kind]
        began = self.initial[who]
        gone = np.flatnonzero(leaf.scope.item[began] != leaf.scope.item[counts.container])
        where = began if leaf.flavour is Flavour.OLD else counts.container
        return self._placed(leaf, who[gone], where[gone], gone, width)

    def _link(self, link: Link, value: Affine, width: int) -> tuple[Entries, tuple[Ints, Floats]]:
        """Return the entries of a link in the argument of its cell, and the errors that the link passes on.

        The errors have the keys of elements, and the largest error of each.

        value  the value of the cell that the link reads
        width  the number of columns of the cell that has the link
        """
        across = value.shape[1]
        key, source, by = outer_entries(link.rows, value.keys // across, link.columns, value.keys % across, width)
        by = by * link.coefficient
        count = np.diff(value.matrix.indptr)[source]
        entry = np.repeat(np.arange(len(source)), count)
        at = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count) + value.matrix.indptr[source][entry]
        entries = (key[entry], value.matrix.indices[at].astype(np.int64), by[entry] * value.matrix.data[at])
        error = np.abs(by) * value.error[source]
        wrong = error > 0
        return entries, (key[wrong], error[wrong])

    def _numbers(self, link: Link, value: Affine, cell: Cell) -> tuple[Floats | float, Matrix]:
        """Return the constants that the link `link` adds to the argument of `cell`.

        The first result is added to every element. The second result is a sparse matrix with the constants of single
        elements.

        value  the value of the cell that the link reads
        """
        source = self.cells[link.source]
        height, across = value.shape
        if value.rest is not None:
            known = np.asarray(value.rest).copy()
            known[value.keys] = value.constant
            return 0.0, link.coefficient * _through(known.reshape(height, across), link)
        base = source.by_row[value.keys // across] + source.by_column[value.keys % across]
        gain = value.constant - (base if source.apply is None else source.apply(base, source.parameter))
        held = csr((gain, (value.keys // across, value.keys % across)), shape=value.shape)
        somewhere = link.coefficient * _through(held, link)
        if cell.dense:
            return link.coefficient * empty_part(source, link.rows, link.columns), somewhere
        if (empty_value(source, source.by_row, source.by_column) != 0).any():
            rows, columns = cell.shape
            raise NotLowerable(
                f"an expression over {rows} x {columns} values is too large: it is not 0 without objects"
            )
        return 0.0, somewhere


def _through(held: Matrix, link: Link) -> Matrix:
    """Return rows @ held @ columns.T, with the maps `rows` and `columns` of the link; a map of None is the identity."""
    over = held if link.rows is None else link.rows @ held
    return csr(over if link.columns is None else over @ csc(link.columns.T))
