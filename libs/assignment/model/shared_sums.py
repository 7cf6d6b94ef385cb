"""Give shared sums columns of their own, because copies in each reader would fill the matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """y = x, for the elements `some`."""

    x: Affine
    some: Ints
    y: Ints

    def fill(self, point: Floats) -> None:
        """Set y by definition."""
        point[self.y] = self.x.at(point)[self.some]


def add_sums(a: Assembly, name: str, x: Affine, *, shared: bool) -> Image:
    """Add y = x if x has several terms and is shared; else return x itself.

    Rows: one per such element.
    """
    wide = np.diff(x.matrix.indptr) > 1
    some = np.flatnonzero(wide) if shared else np.zeros(0, dtype=np.int64)
    least, most = a.bounds_of(x)
    y = a.add_columns(len(some), least=least[some], most=most[some])
    at = np.arange(len(some))
    a.add_rows(
        name,
        "sum",
        x.keys[some],
        x.shape[1],
        entries_of(x.matrix, some, -1.0),
        (at, y, 1.0),
        lower=x.constant[some],
        upper=x.constant[some],
    )
    a.completions.append(Sums(x=x, some=some, y=y))
    column = np.full(len(x.keys), -1)
    column[some] = y
    return Image(column=column, copied=column < 0, constant=np.zeros(len(x.keys)), error=x.error)


def in_columns(a: Assembly, name: str, x: Affine) -> Affine:
    """Return the same elements with at most one term each, for functions that write their argument many times."""
    matrix, constant = add_sums(a, name, x, shared=True).of(x, a.width)
    return replace(x, matrix=matrix, constant=constant)
