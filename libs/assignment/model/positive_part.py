"""Add max(0, x): one row and one column for each element that can have both signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import csr
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.conditional_limits import counts_alone
from libs.assignment.model.directions import Want

EXACT = 1e-14
"""Values below this share of the numbers in a sum count as zero, because of rounding: 1e-6 beside 1e9, but not 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PositiveParts:
    """y = max(0, x), and z = 1 if x > 0 for elements that are wanted large.

    some  (E',) the elements of x with columns of their own
    """

    x: Affine
    some: Ints
    y: Ints
    z: Ints

    def fill(self, point: Floats) -> None:
        """Set y and z by definition."""
        x = self.x.at(point)[self.some]
        point[self.y] = np.maximum(x, 0.0)
        if len(self.z):
            point[self.z] = x > 0


def add_positive_part(a: Assembly, name: str, x: Affine, want: Want, most: Floats | None) -> Image:
    """Add y = max(0, x), with least <= x <= greatest.

        y >= x,  0 <= y <= greatest                                  for elements that can have both signs
        y <= x - least (1 - z),  y <= greatest z,  z in {0, 1}       if large values are wanted too

    most  (E,) a hard limit on y: its value at the start. If it is 0 there is a row x <= 0 and no column

    Rows: one, or three if large values are wanted, per element that can have both signs.
    """
    least, greatest = a.bounds_of(x)
    scale = EXACT * np.maximum(np.abs(x.constant), np.maximum(np.abs(least), np.abs(greatest)))
    below, above = greatest <= scale, (least >= -scale) & (not a.named)
    zero: Bools = below.copy()
    if most is not None:
        none = ~below & (most <= scale)
        rows = np.flatnonzero(none)
        a.add_rows(name, "at most 0", x.keys[rows], x.shape[1], entries_of(x.matrix, rows), upper=-x.constant[rows])
        zero |= none
        _note_limits(a, name, x, rows, np.full(len(x.keys), -1))
        above &= greatest <= most
        greatest = np.minimum(greatest, np.maximum(most, 0.0))
    some = np.flatnonzero(~zero & ~above)
    column = np.full(len(x.keys), -1)
    y = a.add_columns(len(some), least=0.0, most=greatest[some])
    column[some] = y
    at, shape = np.arange(len(some)), x.shape[1]
    if want.small or not want.large:
        a.add_rows(
            name,
            "at least the excess",
            x.keys[some],
            shape,
            entries_of(x.matrix, some, -1.0),
            (at, y, 1.0),
            lower=x.constant[some],
        )
    z = np.zeros(0, dtype=np.int64)
    if want.large:
        z = a.add_columns(len(some), least=0.0, most=1.0, integer=True)
        a.add_rows(
            name,
            "at most the excess",
            x.keys[some],
            shape,
            entries_of(x.matrix, some, -1.0),
            (at, y, 1.0),
            (at, z, -least[some]),
            upper=x.constant[some] - least[some],
        )
        a.add_rows(name, "at most where any", x.keys[some], shape, (at, y, 1.0), (at, z, -greatest[some]), upper=0.0)
    if want.small and not want.large:
        _note_limits(a, name, x, some, column)
    a.completions.append(PositiveParts(x=x, some=some, y=y, z=z))
    return Image(column=column, copied=above & ~zero, constant=np.zeros(len(x.keys)), error=x.error)


def _note_limits(a: Assembly, name: str, x: Affine, some: Ints, excess: Ints) -> None:
    """Record the limits on counts, for `add_links`."""
    alone = counts_alone(a, x.matrix, some[x.constant[some] < 0])
    a.limits.append((name, csr(x.matrix)[alone], -x.constant[alone], excess[alone], x.keys[alone], x.shape[1]))
