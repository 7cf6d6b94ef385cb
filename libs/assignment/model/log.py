"""Add ln(1 + max(0, x)) to a model."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly
from libs.assignment.model.at_least_zero import at_least_zero
from libs.assignment.model.directions import Want
from libs.assignment.model.piecewise import Curve, add_pieces


def add_log(a: Assembly, name: str, x: Affine, want: Want, near: Floats) -> Image:
    """Add ln(1 + max(0, x)) by linear pieces of a concave curve, and return its image. See `add_pieces`."""

    def slope(u: Floats) -> Floats:
        return 1.0 / (1.0 + u)

    curve = Curve(of=np.log1p, slope=slope, convex=False)
    return add_pieces(a, name, at_least_zero(a, name, x, want), want, curve, near)
