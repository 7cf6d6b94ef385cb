"""How much the objects can change a cell: what its tolerances are measured by, and the units of the levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from libs.assignment.graph.cell import CEIL, IDENTITY, LOG, MAX, POSITIVE_PART, POWER, STEP, Cell, Leaf
from libs.assignment.language.arrays import Floats
from libs.assignment.language.matrices import Matrix

TOLERANCE_SHARE = 1e-11
"""Of a hard element, of the largest number in its cell: what millions of increments leave."""
EXACT_SHARE = 1e-13
"""Likewise: what one sum leaves."""
FAR_BELOW = 2.0
"""Times all that there is: a limit that is so much is never broken, however sums are rounded."""
PART = 0.25
"""Of the least that one object adds: whether it is there is never within a tolerance."""


class Reach(NamedTuple):
    """Of the elements of a cell, in size.

    least  that one object changes an element by, where it changes any; 0 where none does
    most   likewise
    total  of all objects together, at most
    """

    least: float
    most: float
    total: float

    def times(self, least: float, most: float) -> Reach:
        """What is multiplied by numbers from least to most."""
        return Reach(self.least * least, self.most * most, self.total * most)


NONE = Reach(0.0, 0.0, 0.0)


def reaches(cells: Sequence[Cell]) -> list[Reach]:
    """Of each cell's value. Time grows with what the maps hold.

    Bounds, and not sharp ones: a product of the least numbers that are not 0, and one of the largest.
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
    """Of a sum."""
    some = [part for part in parts if part.most > 0]
    if not some:
        return NONE
    return Reach(min(part.least for part in some), max(part.most for part in some), sum(part.total for part in some))


def tolerance_of(cell: Cell, value: Reach) -> float:
    """By how much a hard element may grow: what sums of floats leave, and never what an object takes.

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
    """What the constant of a cell is made of, but for limits that everything together stays far below: excess is 0
    there, exactly, and their size says nothing of the rounding elsewhere.
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
        return Reach(*(each**cell.parameter for each in inside))
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
    """The least and the largest coefficient of a map, in size."""
    return (1.0, 1.0) if given is None else _ends(given.data)
