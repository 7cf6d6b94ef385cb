"""Define specs made of specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.fuzz.definitions.meaning import (
    Meaning,
    broken,
    excess_of,
    meaning,
    means,
    over,
    scale_of,
)
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Floats
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound
from libs.assignment.language.specs.logical_and import LogicalAndSpec
from libs.assignment.language.specs.logical_or import LogicalOrSpec
from libs.assignment.language.specs.no_regression import NoRegressionSpec


@means(LogicalAndSpec)
def logical_and(world: World, s: Any) -> Meaning:
    members = [meaning(world, one) for one in s.specs]
    return broken(*(excess_of(one) for one in members), scale=sum(scale_of(one) for one in members))


@means(LogicalOrSpec)
def logical_or(world: World, s: Any) -> Meaning:
    members = [meaning(world, one) for one in s.specs]
    least = np.stack([excess_of(one).sum(axis=1) for one in members]).min(axis=0)
    return broken(least[:, None], scale=min(scale_of(one) for one in members))


@means(NoRegressionSpec)
def no_regression(world: World, s: Any) -> Meaning:
    weights = list(s.weights) or [1.0] * len(s.specs)
    now = by_item(world, s, weights)
    most = by_item(world.at_start, s, weights) if s.most is None else np.array(s.most, dtype=np.float64)
    scale = sum(weight * scale_of(meaning(world, one)) for weight, one in zip(weights, s.specs, strict=True))
    return broken(over(now - most), scale=float(scale))


def by_item(world: World, s: Any, weights: Sequence[float]) -> Floats:
    """Return the (A, I) sum of the members' weighted excess. A member contributes 0 for items that its filter leaves
    out.
    """
    total = np.zeros((len(world), world.items(s.scope)))
    for weight, one in zip(weights, s.specs, strict=True):
        excess, kept = excess_of(meaning(world, one)), world.kept(s.scope, getattr(one, "filter", Filter()))
        parts = len(getattr(one, "flavour", Flavour.AFTER).parts())
        parts *= 2 if getattr(one, "bound", None) is CountBound.EXACT else 1
        if len(kept):
            total[:, kept] += weight * excess.reshape(len(world), parts, len(kept), -1).sum(axis=(1, 3))
    return total
