"""Find hard constraints that exclude each other before a search begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.graph.cell import POSITIVE_PART, Cell
from libs.assignment.language.arrays import Floats
from libs.assignment.language.errors import Contradiction, shown
from libs.assignment.language.matrices import Matrix

SLACK = 1e-9


def refuse_contradictions(named: Sequence[tuple[str, Cell]]) -> None:
    """Raise Contradiction if two hard constraints bound one utilisation from above, and from below by a larger number.

    named   the name of the spec and the cell of each hard constraint; only cells that read the assignment directly
            count
    """
    plain = [(name, cell) for name, cell in named if cell.function == POSITIVE_PART and not cell.links and cell.dense]
    for k, (name, cell) in enumerate(plain):
        for other_name, other in plain[:k]:
            if cell.shape != other.shape or not _opposed(cell, other):
                continue
            too_much = _constant(cell) + _constant(other)
            bad = np.argwhere(too_much > SLACK * np.maximum(1.0, np.abs(_constant(cell))))
            if len(bad):
                row, column = bad[0]
                sides = sorted((_side(name, cell, row, column), _side(other_name, other, row, column)))
                more = shown([tuple(one) for one in bad[1:].tolist()])
                also = f"; likewise at {more}" if more else ""
                raise Contradiction(f"{sides[0]}, {sides[1]}: no assignment can satisfy both{also}")


def _side(name: str, cell: Cell, row: int, column: int) -> str:
    """Describe the limit of one constraint on an element: x = constant + leaves must be at most 0."""
    limit = float(_constant(cell)[row, column])
    at_most = all((leaf.values >= 0).all() for leaf in cell.leaves)
    bound, number = ("at most", -limit) if at_most else ("at least", limit)
    return f"{name} asks for {bound} {number:g} in row {row}, column {column}"


def _opposed(one: Cell, other: Cell) -> bool:
    if len(one.leaves) != 1 or len(other.leaves) != 1:
        return False
    a, b = one.leaves[0], other.leaves[0]
    alike = a.flavour is b.flavour and a.scope is b.scope and a.factor is b.factor and bool(a.values.any())
    return alike and _same(a.rows, b.rows) and _same(a.columns, b.columns) and bool((a.values == -b.values).all())


def _same(one: Matrix, other: Matrix) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.shape == other.shape and abs(one - other).nnz == 0)


def _constant(cell: Cell) -> Floats:
    whole = cell.by_row[:, None] + cell.by_column[None, :]
    return whole if cell.grid is None else np.asarray(whole + cell.grid.toarray())
