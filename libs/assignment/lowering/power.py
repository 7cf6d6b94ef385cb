"""max(0, x) ** p."""

from __future__ import annotations

from libs.assignment.arrays import Floats
from libs.assignment.lowering.affine import Affine, Image
from libs.assignment.lowering.assembly import Assembly
from libs.assignment.lowering.at_least_zero import at_least_zero
from libs.assignment.lowering.piecewise import Curve, add_pieces
from libs.assignment.lowering.wants import Want


def add_power(a: Assembly, name: str, x: Affine, want: Want, exponent: float, near: Floats) -> Image:
    """By pieces: convex from an exponent of 1 on, concave below. See `add_pieces`."""

    def power(u: Floats) -> Floats:
        return u**exponent

    def slope(u: Floats) -> Floats:
        return exponent * u ** (exponent - 1.0)

    curve = Curve(of=power, slope=slope, convex=exponent >= 1)
    only_small = want.small and not want.large
    return add_pieces(a, name, x if only_small and curve.convex else at_least_zero(a, name, x, want), want, curve, near)
