"""Add the largest, or the n-th largest, of a row, of a column or of all elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.cell import Cell
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.max import Over
from libs.assignment.language.matrices import csr
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.directions import Want

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Maxima:
    """y[o] = the n-th largest of the elements with out = o.

    name   of their specs
    above  columns that are 1 for elements above y; above_at: these elements
    below  columns that are 1 for elements that y may not exceed
    """

    name: str
    x: Affine
    out: Ints
    n: int
    y: Ints
    above_at: Ints
    above: Ints
    below: Ints

    def fill(self, point: Floats) -> None:
        """Set y by sorting. Of equal elements the earlier ones count as larger."""
        x = self.x.at(point)
        rank = ranks(self.out, x)
        nth = rank == self.n
        point[self.y[self.out[nth]]] = x[nth]
        point[self.above] = rank[self.above_at] < self.n
        if len(self.below):
            point[self.below] = rank <= self.n


def add_maximum(a: Assembly, name: str, cell: Cell, given: Affine, want: Want) -> Image:
    """Add y = the n-th largest x (n = 0: the largest), with least <= x <= greatest.

        y >= x - (greatest - floor) above,   sum above <= n        if small values are wanted; above in {0, 1}
        y <= x + (roof - least) (1 - below),  sum below = n + 1    if large values are wanted; below in {0, 1}

    floor <= y <= roof follow from the elements' own bounds. For n = 0 there is no `above`. Rows: one per element that
    can be above the floor; if large values are wanted, one more per element.
    """
    n, outs = int(cell.parameter), cell.out_shape[0] * cell.out_shape[1]
    x = _with_numbers(cell, given, n)
    out = _out(cell, x.keys)
    least, greatest = a.bounds_of(x)
    floor, roof = _nth(out, least, n), _nth(out, greatest, n)
    y = a.add_columns(outs, least=floor, most=roof)
    above_at, above, below = NONE, NONE, NONE
    if want.small or not want.large:
        some = np.flatnonzero(greatest > floor[out])
        at = np.arange(len(some))
        if n:
            above_at, above = some, a.add_columns(len(some), least=0.0, most=1.0, integer=True)
            few = np.arange(outs)
            a.add_rows(name, "n may be above", few, cell.out_shape[1], (out[some], above, 1.0), upper=n)
        a.add_rows(
            name,
            "at least each",
            x.keys[some],
            x.shape[1],
            entries_of(x.matrix, some, -1.0),
            (at, y[out[some]], 1.0),
            (at[: len(above)], above, (greatest - floor[out])[some[: len(above)]]),
            lower=x.constant[some],
        )
    if want.large:
        below = a.add_columns(len(out), least=0.0, most=1.0, integer=True)
        at, slack = np.arange(len(out)), roof[out] - least
        a.add_rows(
            name, "n + 1 are chosen", np.arange(outs), cell.out_shape[1], (out, below, 1.0), lower=n + 1, upper=n + 1
        )
        a.add_rows(
            name,
            "at most the chosen",
            x.keys,
            x.shape[1],
            entries_of(x.matrix, at, -1.0),
            (at, y[out], 1.0),
            (at, below, slack),
            upper=x.constant + slack,
        )
    a.completions.append(Maxima(name=name, x=x, out=out, n=n, y=y, above_at=above_at, above=above, below=below))
    error = np.zeros(outs)
    np.maximum.at(error, out, x.error)
    return Image(column=y, copied=np.zeros(outs, dtype=np.bool_), constant=np.zeros(outs), error=error)


def ranks(group: Ints, x: Floats) -> Ints:
    """Return the position of each element within its group, (E,): 0 for the largest; of equals the earlier one
    first.
    """
    order = np.lexsort((-x, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(x), dtype=np.int64)
    rank[order] = np.arange(len(x)) - starts[group[order]]
    return rank


def _out(cell: Cell, keys: Ints) -> Ints:
    """Return the maximum that each element belongs to."""
    if cell.over is Over.ALL:
        return np.zeros(len(keys), dtype=np.int64)
    return keys % cell.shape[1] if cell.over is Over.ROWS else keys // cell.shape[1]


def _nth(out: Ints, x: Floats, n: int) -> Floats:
    nth = ranks(out, x) == n
    found = np.zeros(int(nth.sum()))
    found[out[nth]] = x[nth]
    return found


def _with_numbers(cell: Cell, x: Affine, n: int) -> Affine:
    """Add the n + 1 largest constant elements of each maximum to the elements with columns."""
    assert x.rest is not None  # a maximum is over a dense cell
    fixed = np.setdiff1d(np.arange(len(x.rest)), x.keys, assume_unique=True)
    fixed = fixed[ranks(_out(cell, fixed), x.rest[fixed]) <= n] if len(fixed) else fixed
    keys = np.concatenate([x.keys, fixed])
    order = np.argsort(keys)
    taller = csr(x.matrix)
    starts = np.append(taller.indptr, np.full(len(fixed), taller.indptr[-1]))
    taller = csr((taller.data, taller.indices, starts), shape=(len(keys), taller.shape[1]))
    return Affine(
        shape=x.shape,
        keys=keys[order],
        matrix=csr(taller[order]),
        constant=np.append(x.constant, x.rest[fixed])[order],
        error=np.append(x.error, np.zeros(len(fixed)))[order],
        rest=x.rest,
    )
