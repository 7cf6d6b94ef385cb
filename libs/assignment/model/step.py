"""Add 1 if x is positive, else 0: one binary for each element that can be both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import NotLowerable
from libs.assignment.language.expressions.step import STEP_TOLERANCE
from libs.assignment.language.matrices import csr
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.conditional_limits import counts_alone
from libs.assignment.model.directions import Want
from libs.assignment.model.granularity import grain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """y = 1 if x > 0, for the elements `some`."""

    x: Affine
    some: Ints
    y: Ints

    def fill(self, point: Floats) -> None:
        """Set y by definition."""
        point[self.y] = self.x.at(point)[self.some] > STEP_TOLERANCE


def add_step(a: Assembly, name: str, x: Affine, want: Want, most: Floats | None) -> Image:
    """Add y = 1 if x > 0 else 0, with least <= x <= greatest; y in {0, 1}.

        x <= free + (greatest - free) y              if 0 is wanted; free: STEP_TOLERANCE if x may be less, else 0
        x >= grain y + least (1 - y)                 if 1 is wanted; grain: the least positive value of x

    most  (E,) a hard limit on y: if it is 0 there is a row x <= 0 and no column

    Rows: one or two per element that can be both.
    """
    if x.error.any():
        raise NotLowerable(f"{name}: cannot take a step of a value that has pieces itself; use the solver local")
    least, greatest = a.bounds_of(x)
    zero, one = greatest <= STEP_TOLERANCE, least > STEP_TOLERANCE
    if most is not None:
        none = ~zero & (most < 1)
        rows = np.flatnonzero(none)
        most_there = _free(grain(a, x, rows)) - x.constant[rows]
        a.add_rows(name, "none", x.keys[rows], x.shape[1], entries_of(x.matrix, rows), upper=most_there)
        zero = zero | none
    some = np.flatnonzero(~zero & ~one)
    y = a.add_columns(len(some), least=0.0, most=1.0, integer=True)
    column = np.full(len(x.keys), -1)
    column[some] = y
    at, shape = np.arange(len(some)), x.shape[1]
    fine = grain(a, x, some)
    if want.small or not want.large:
        free = _free(fine)
        a.add_rows(
            name,
            "none unless counted",
            x.keys[some],
            shape,
            entries_of(x.matrix, some),
            (at, y, free - greatest[some]),
            upper=free - x.constant[some],
        )
        alone = counts_alone(a, x.matrix, some[x.constant[some] == 0], least=2 * STEP_TOLERANCE)
        a.steps.append((csr(x.matrix)[alone], column[alone]))
    if want.large:
        fine = np.maximum(fine, STEP_TOLERANCE)
        a.add_rows(
            name,
            "some if counted",
            x.keys[some],
            shape,
            entries_of(x.matrix, some),
            (at, y, least[some] - fine),
            lower=least[some] - x.constant[some],
        )
    a.completions.append(Steps(x=x, some=some, y=y))
    nothing = np.zeros(len(x.keys))
    return Image(column=column, copied=np.zeros(len(x.keys), np.bool_), constant=np.where(one, 1.0, 0.0), error=nothing)


def _free(fine: Floats) -> Floats:
    """Return the largest x that counts as 0. It is 0 if every positive value exceeds the tolerance of steps."""
    return np.where(fine > STEP_TOLERANCE, 0.0, STEP_TOLERANCE)
