"""Bound the effect of objects on cells. Tolerances and the units of levels follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from libs.assignment.graph.cell import CEIL, IDENTITY, LOG, MAX, POSITIVE_PART, POWER, STEP, Cell, Leaf
from libs.assignment.language.arrays import Floats
from libs.assignment.language.matrices import Matrix

TOLERANCE_SHARE = 1e-11
"""Tolerance of a hard element relative to the largest number in its cell: the error of millions of increments."""
EXACT_SHARE = 1e-13
"""Relative error of one sum."""
FAR_BELOW = 2.0
"""No assignment breaks a limit that is this many times the largest sum, even with rounding errors."""
PART = 0.25
"""Share of the least effect of one object. A tolerance below it cannot hide an object."""


class Reach(NamedTuple):
    """Bounds of the absolute changes of a cell's elements.

    least  least nonzero change of an element by one object; 0: no object changes any element
    most   largest change of an element by one object
    total  largest change by all objects together
    """

    least: float
    most: float
    total: float

    def times(self, least: float, most: float) -> Reach:
        """Return the reach after a multiplication by numbers between `least` and `most`."""
        return Reach(self.least * least, self.most * most, self.total * most)


NONE = Reach(0.0, 0.0, 0.0)


def reaches(cells: Sequence[Cell]) -> list[Reach]:
    """Return the reach of each cell's value. Time grows with the entries of the maps.

    The bounds are not sharp: a product of the least nonzero numbers, and a product of the largest.
    """
    found: list[Reach] = []
    for cell in cells:
        parts = [_of_leaf(leaf) for leaf in cell.leaves]
        for link in cell.links:
            across = found[link.source].times(*_sizes(link.rows)).times(*_sizes(link.columns))
            parts.append(across.times(abs(link.coefficient), abs(link.coefficient)))
        found.append(_value(cell, added_up(parts)))
    return found


def added_up(parts: Sequence[Reach]) -> Reach:
    """Return the reach of a sum."""
    some = [part for part in parts if part.most > 0]
    if not some:
        return NONE
    return Reach(min(part.least for part in some), max(part.most for part in some), sum(part.total for part in some))


def tolerance_of(cell: Cell, value: Reach) -> float:
    """Return the tolerance of a hard element: the rounding of sums, but less than one object adds.

    value  the reach of the cell's value
    """
    largest = value.total
    if cell.function in (IDENTITY, POSITIVE_PART, MAX):  # constants are of the same kind as the value
        largest = max(largest, *(float(np.abs(each).max(initial=0.0)) for each in _constants(cell, value.total)))
    tolerance = TOLERANCE_SHARE * largest
    if value.least > 0:
        tolerance = min(tolerance, PART * value.least)
    return max(tolerance, EXACT_SHARE * largest)


def _constants(cell: Cell, total: float) -> list[Floats]:
    """Return the constants of a cell, except for limits far above the sum of all objects.

    The excess over such a limit is exactly 0, so its size has no effect on rounding elsewhere.
    """
    given = [cell.by_row, cell.by_column, *([] if cell.grid is None else [cell.grid.data])]
    if cell.function != POSITIVE_PART or cell.links:
        return given
    most = [float(cell.by_row.max(initial=-np.inf)), float(cell.by_column.max(initial=-np.inf)), 0.0]
    if cell.grid is not None:
        most[2] = float(cell.grid.data.max(initial=0.0))
    return [each[each + sum(most[:k] + most[k + 1 :]) >= -FAR_BELOW * total] for k, each in enumerate(given)]


def _value(cell: Cell, inside: Reach) -> Reach:
    if inside.most == 0:
        return NONE
    elements = float(cell.shape[0] * cell.shape[1])
    if cell.function == STEP:
        return Reach(1.0, 1.0, elements)
    if cell.function == CEIL:
        return Reach(1.0, max(1.0, inside.most), inside.total + elements)
    if cell.function == LOG:
        return Reach(*(float(np.log1p(each)) for each in inside))
    if cell.function == POWER:
        with np.errstate(over="ignore"):  # an infinite value is refused later, with its spec
            return Reach(*(float(np.power(each, cell.parameter)) for each in inside))
    return inside


def _of_leaf(leaf: Leaf) -> Reach:
    found = _among(leaf.values)
    if leaf.factor is not None:
        found = found.times(*_ends(leaf.factor.table))
    return found.times(*_sizes(leaf.rows)).times(*_sizes(leaf.columns))


def _among(values: Floats) -> Reach:
    size = np.abs(values[values != 0])
    return Reach(float(size.min()), float(size.max()), float(size.sum())) if len(size) else NONE


def _ends(values: Floats) -> tuple[float, float]:
    size = np.abs(values[values != 0])
    return (float(size.min()), float(size.max())) if len(size) else (0.0, 0.0)


def _sizes(given: Matrix | None) -> tuple[float, float]:
    """Return the least and the largest absolute coefficient of a map."""
    return (1.0, 1.0) if given is None else _ends(given.data)
