"""Approximate convex and concave functions of nonnegative values by linear pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly, entries_of
from libs.assignment.model.directions import Want
from libs.assignment.model.granularity import multiples
from libs.assignment.model.shared_sums import in_columns

PIECES = 32
"""Linear pieces per element."""
SMALLEST_SHARE = 1e-3
"""First breakpoint above the least value, as a share of the greatest. Breakpoints are closer for small values."""
SAMPLES = 8
"""Points per piece at which the error is measured."""

Function = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A function of u >= 0 with its slope, and whether it is convex or concave."""

    of: Function
    slope: Function
    convex: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """y = the pieces at u, for the elements `some`; with binaries also the used length of each piece.

    name     of their specs
    breaks   (E', P + 1)
    tangent  y is bounded by the tangents at the breaks; else it is interpolated between them
    used     (E', P) columns: used length of each piece; full (E', P - 1): 1 if the next piece may be used
    """

    name: str
    x: Affine
    some: Ints
    curve: Curve
    breaks: Floats
    tangent: bool
    y: Ints
    used: Ints
    full: Ints

    def fill(self, point: Floats) -> None:
        """Set y to the values of the pieces, and not of the curve, so that all rows hold."""
        u = np.maximum(self.x.at(point)[self.some], 0.0)
        if not len(u):
            return
        if self.used.size:
            inside = np.clip(u[:, None] - self.breaks[:, :-1], 0.0, np.diff(self.breaks, axis=1))
            point[self.used] = inside
            point[self.full] = u[:, None] >= self.breaks[:, 1:-1]
        point[self.y] = pieces_at(self.curve, self.breaks, u[:, None], tangent=self.tangent)[:, 0]


def add_pieces(a: Assembly, name: str, x: Affine, want: Want, curve: Curve, near: Floats) -> Image:
    """Add y = f(max(0, x)) up to a stated error, with least <= x <= greatest.

        f convex and wanted small:   y >= f(t) + f'(t) (x - t)  for the breaks t, y >= 0
        f concave and wanted large:  y <= f(t) + f'(t) (x - t)  likewise; x must not be below 0
        else                         x = least + sum_k used[k],  y = f(least) + sum_k slope[k] used[k],
                                     length[k] full[k] <= used[k],  used[k+1] <= length[k+1] full[k],  full in {0, 1}

    If x takes at most PIECES multiples of one number, breaks are at these values, and the result is exact. Else a
    tangent lies on the wanted side, so the model's value is never worse than the true one.

    near  (S, E) values of x at which tangents must be exact

    Rows: PIECES + 1 per element, or twice that.
    """
    least, greatest = a.bounds_of(x)
    least, greatest = np.maximum(least, 0.0), np.maximum(greatest, 0.0)
    some = np.flatnonzero(greatest > least)
    fixed = np.where(greatest > least, 0.0, curve.of(greatest))
    breaks, exact = _breaks(a, x, some, least[some], greatest[some])
    easy = want.small != want.large and want.small == curve.convex
    tangent = easy and not exact
    if tangent:
        # a point of `near` out of range only repeats a break
        low_end, high_end = breaks[:, :1], breaks[:, -1:]
        breaks = np.sort(np.concatenate([breaks, np.clip(near[:, some].T, low_end, high_end)], axis=1), axis=1)
    low, high = curve.of(least[some]), curve.of(greatest[some])
    y = a.add_columns(
        len(some), least=np.minimum(low, pieces_at(curve, breaks, breaks, tangent=tangent)[:, 0]), most=high
    )
    none = np.zeros((len(some), 0), dtype=np.int64)
    used, full = none, none
    if easy:
        _bound(a, name, in_columns(a, name, x), some, curve, breaks, y, tangent=tangent)
    else:
        used, full = _interpolate(a, name, x, some, curve, breaks, y)
        a.sound &= exact or want.small != want.large
    a.completions.append(
        Pieces(name=name, x=x, some=some, curve=curve, breaks=breaks, tangent=tangent, y=y, used=used, full=full)
    )
    column = np.full(len(x.keys), -1)
    column[some] = y
    error = np.zeros(len(x.keys))
    if not exact:
        error[some] = _error(curve, breaks, tangent=tangent)
    steepest = np.maximum(curve.slope(np.maximum(greatest, 1e-300)), curve.slope(np.maximum(least, 1e-300)))
    error += np.where(x.error > 0, x.error * steepest, 0.0)
    return Image(column=column, copied=np.zeros(len(x.keys), np.bool_), constant=fixed, error=error)


def pieces_at(curve: Curve, breaks: Floats, u: Floats, *, tangent: bool) -> Floats:
    """Return the values of the linear pieces of E' elements at S points `u` each, (E', S)."""
    if tangent:
        t = breaks[:, None, 1:]
        lines = curve.of(t) + curve.slope(t) * (u[:, :, None] - t)
        return np.asarray(np.maximum(lines.max(axis=2), 0.0) if curve.convex else lines.min(axis=2))
    values = curve.of(breaks)
    slopes = np.diff(values, axis=1) / np.diff(breaks, axis=1)
    k = (u[:, :, None] >= breaks[:, None, 1:-1]).sum(axis=2)
    at = np.arange(len(breaks))[:, None]
    return np.asarray(values[at, k] + slopes[at, k] * (u - breaks[at, k]))


def _breaks(a: Assembly, x: Affine, some: Ints, least: Floats, greatest: Floats) -> tuple[Floats, bool]:
    """Return rising breaks from the least to the greatest value, (E', P + 1), and whether all values are among them."""
    grain, whole = multiples(a, x, some)
    count = np.rint((greatest - least) / grain)
    if len(some) and whole.all() and (count <= PIECES).all():
        steps = int(count.max())
        # for elements with fewer values the breaks continue beyond the greatest one
        return least[:, None] + grain[:, None] * np.arange(steps + 1), True
    first = np.maximum(least, SMALLEST_SHARE * greatest)
    first = np.where(first > least, first, least + SMALLEST_SHARE * (greatest - least))
    share = np.linspace(0.0, 1.0, PIECES)
    inner = first[:, None] * (greatest / first)[:, None] ** share
    return np.concatenate([least[:, None], inner], axis=1), False


def _bound(
    a: Assembly, name: str, x: Affine, some: Ints, curve: Curve, breaks: Floats, y: Ints, *, tangent: bool
) -> None:
    if tangent:
        at = breaks[:, 1:]  # without 0, because the slope there may be infinite
        slopes, values = curve.slope(at), curve.of(at)
    else:
        slopes, values, at = np.diff(curve.of(breaks)) / np.diff(breaks), curve.of(breaks)[:, :-1], breaks[:, :-1]
    height = values - slopes * at
    count = slopes.shape[1]
    repeated = np.repeat(some, count)
    row, column, by = entries_of(x.matrix, repeated)
    steep, high = slopes.ravel(), height.ravel()
    bound = steep * x.constant[repeated] + high
    entries = ((row, column, -by * steep[row]), (np.arange(len(repeated)), np.repeat(y, count), 1.0))
    keys, shape = x.keys[repeated], x.shape[1]
    if curve.convex:
        a.add_rows(name, "at least each piece", keys, shape, *entries, lower=bound)
    else:
        a.add_rows(name, "at most each piece", keys, shape, *entries, upper=bound)


def _interpolate(
    a: Assembly, name: str, x: Affine, some: Ints, curve: Curve, breaks: Floats, y: Ints
) -> tuple[Ints, Ints]:
    count, pieces = breaks.shape[0], breaks.shape[1] - 1
    lengths, values = np.diff(breaks, axis=1), curve.of(breaks)
    slopes = np.diff(values, axis=1) / lengths
    used = a.add_columns(count * pieces, least=0.0, most=lengths.ravel()).reshape(count, pieces)
    full = a.add_columns(count * (pieces - 1), least=0.0, most=1.0, integer=True).reshape(count, pieces - 1)
    each, keys, shape = np.arange(count)[:, None], x.keys[some], x.shape[1]
    a.add_rows(
        name,
        "in pieces",
        keys,
        shape,
        entries_of(x.matrix, some, -1.0),
        (each, used, 1.0),
        lower=x.constant[some] - breaks[:, 0],
        upper=x.constant[some] - breaks[:, 0],
    )
    a.add_rows(
        name,
        "value of pieces",
        keys,
        shape,
        (each, used, -slopes),
        (each[:, 0], y, 1.0),
        lower=values[:, 0],
        upper=values[:, 0],
    )
    row = np.arange(full.size).reshape(full.shape)
    inner = np.repeat(keys, pieces - 1)
    a.add_rows(name, "full first", inner, shape, (row, used[:, :-1], 1.0), (row, full, -lengths[:, :-1]), lower=0.0)
    a.add_rows(name, "then the next", inner, shape, (row, used[:, 1:], 1.0), (row, full, -lengths[:, 1:]), upper=0.0)
    return used, full


def _error(curve: Curve, breaks: Floats, *, tangent: bool) -> Floats:
    """Return the largest difference of pieces and curve, (E',), at SAMPLES points of each piece."""
    share = (np.arange(SAMPLES) + 0.5) / SAMPLES
    points = breaks[:, :-1, None] + share * np.diff(breaks, axis=1)[:, :, None]
    points = np.concatenate([points.reshape(len(breaks), SAMPLES * (breaks.shape[1] - 1)), breaks], axis=1)
    worst = np.zeros(len(breaks))
    for column in range(points.shape[1]):
        u = points[:, [column]]
        worst = np.maximum(worst, np.abs(pieces_at(curve, breaks, u, tangent=tangent) - curve.of(u))[:, 0])
    return worst
