"""Draw specs as users write them."""

from __future__ import annotations

from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.own import SHAPES, OwnSpec
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.spec import Spec


def own_spec(draw: Draw) -> Spec:
    return OwnSpec(
        shape=draw.one(SHAPES),
        dimension=draw.dimension(),
        scope=draw.scope(),
        partition=draw.partition() if draw.maybe(0.4) else None,
        flavour=draw.one([one for one in Flavour if one is not Flavour.DURING_AND_AFTER]),
        a=draw.one((1.0, 1.0, -1.0, 0.5, 2.0)),
        b=draw.one((0.0, 0.0, -1.0, -2.0, 1.0, 0.3)),
        c=draw.one((0.0, 0.0, 1.0, -1.0, 2.0)),
        sign=draw.one((1.0, 1.0, -1.0)),
    )
