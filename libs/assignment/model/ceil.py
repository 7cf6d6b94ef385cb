"""Round up, with one integer column for each element that is not a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import NotLowerable
from libs.assignment.language.expressions.ceil import CEIL_TOLERANCE, Ceil
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.directions import Want


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ceilings:
    """y = ceil(x), for the elements `some`."""

    x: Affine
    some: Ints
    y: Ints

    def fill(self, point: Floats) -> None:
        """Set y by definition."""
        point[self.y] = Ceil.of(self.x.at(point)[self.some], 0.0)


def add_ceil(a: Assembly, name: str, x: Affine, want: Want) -> Image:
    """Add y = ceil(x - tolerance), y integer.

        y >= x - tolerance                  if small values are wanted
        y <= x - tolerance + 1 - tolerance  if large values are wanted: x within a tolerance above a whole number
                                            counts as that number

    Rows: one or two per element that can exceed one whole number.
    """
    if x.error.any():
        raise NotLowerable(f"{name}: cannot round a value that has pieces itself; use the solver local")
    least, greatest = (Ceil.of(bound, 0.0) for bound in a.bounds_of(x))
    some = np.flatnonzero(greatest > least)
    y = a.add_columns(len(some), least=least[some], most=greatest[some], integer=True)
    column = np.full(len(x.keys), -1)
    column[some] = y
    at = np.arange(len(some))
    over = (entries_of(x.matrix, some, -1.0), (at, y, 1.0))
    if want.small or not want.large:
        a.add_rows(name, "rounded up", x.keys[some], x.shape[1], *over, lower=x.constant[some] - CEIL_TOLERANCE)
    if want.large:
        most = x.constant[some] + 1 - 2 * CEIL_TOLERANCE
        a.add_rows(name, "no further", x.keys[some], x.shape[1], *over, upper=most)
    a.completions.append(Ceilings(x=x, some=some, y=y))
    fixed = np.where(greatest > least, 0.0, least)
    nothing = np.zeros(len(x.keys))
    return Image(column=column, copied=np.zeros(len(x.keys), np.bool_), constant=fixed, error=nothing)
