"""ln(1 + max(0, x))."""

from __future__ import annotations

import numpy as np

from libs.assignment.arrays import Floats
from libs.assignment.lowering.affine import Affine, Image
from libs.assignment.lowering.assembly import Assembly
from libs.assignment.lowering.at_least_zero import at_least_zero
from libs.assignment.lowering.piecewise import Curve, add_pieces
from libs.assignment.lowering.wants import Want


def add_log(a: Assembly, name: str, x: Affine, want: Want, near: Floats) -> Image:
    """By pieces; concave. See `add_pieces`."""

    def slope(u: Floats) -> Floats:
        return 1.0 / (1.0 + u)

    curve = Curve(of=np.log1p, slope=slope, convex=False)
    return add_pieces(a, name, at_least_zero(a, name, x, want), want, curve, near)
