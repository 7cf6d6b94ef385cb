"""Add max(0, x) ** p to a model."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.model.affine import Affine, Image
from libs.assignment.model.assembly import Assembly
from libs.assignment.model.at_least_zero import at_least_zero
from libs.assignment.model.directions import Want
from libs.assignment.model.granularity import grain
from libs.assignment.model.piecewise import Curve, add_pieces


def add_power(a: Assembly, name: str, x: Affine, want: Want, exponent: float, near: Floats) -> Image:
    """Add max(0, x) ** exponent by linear pieces, and return its image. See `add_pieces`.

    The curve is convex for exponents of 1 and more, else concave. A concave power has infinite slope at 0. There the
    function uses the slope at the least positive value of x.
    """
    fine = float(grain(a, x, np.arange(len(x.keys))).min(initial=1.0))

    def power(u: Floats) -> Floats:
        return u**exponent

    def slope(u: Floats) -> Floats:
        if exponent >= 1:
            return exponent * u ** (exponent - 1.0)
        return np.where(u > 0, exponent * np.maximum(u, fine) ** (exponent - 1.0), fine ** (exponent - 1.0))

    curve = Curve(of=power, slope=slope, convex=exponent >= 1)
    only_small = want.small and not want.large
    return add_pieces(a, name, x if only_small and curve.convex else at_least_zero(a, name, x, want), want, curve, near)
