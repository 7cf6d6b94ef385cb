"""Bound the argument of a curve from below, for curves whose argument must be 0 or more."""

from __future__ import annotations

from dataclasses import replace

from libs.assignment.model.affine import Affine
from libs.assignment.model.assembly import Assembly
from libs.assignment.model.directions import Want
from libs.assignment.model.positive_part import add_positive_part


def at_least_zero(a: Assembly, name: str, x: Affine, want: Want) -> Affine:
    """Return max(0, x), in new columns if x can be below 0."""
    if (a.bounds_of(x)[0] >= 0).all():
        return x
    matrix, constant = add_positive_part(a, name, x, want, None).of(x, a.width)
    return replace(x, matrix=matrix, constant=constant)
