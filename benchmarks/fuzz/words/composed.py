"""Draw specs made of specs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.words.book import GENERATORS, GOALS_ONLY, draws
from benchmarks.fuzz.words.groups import group_count, group_diversity
from benchmarks.fuzz.words.limits import avoid_assignments, capacity, single_group_failure_buffer
from benchmarks.fuzz.words.own import own_spec
from libs.assignment.language.specs.logical_and import LogicalAndSpec
from libs.assignment.language.specs.logical_or import LogicalOrSpec
from libs.assignment.language.specs.no_regression import NoRegressionSpec
from libs.assignment.language.specs.spec import Spec

DEPTH_MAX = 2
"""Largest depth of nested specs."""


@draws(LogicalAndSpec)
def logical_and(draw: Draw) -> Spec:
    return LogicalAndSpec(specs=_members(draw))


@draws(LogicalOrSpec)
def logical_or(draw: Draw) -> Spec:
    return LogicalOrSpec(specs=_members(draw))


@draws(NoRegressionSpec)
def no_regression(draw: Draw) -> Spec:
    scope = draw.scope()
    specs: list[Spec] = []
    for _ in range(int(draw.rng.integers(1, 4))):
        makers = (capacity, group_count, single_group_failure_buffer, group_diversity, avoid_assignments)
        of_scope: Any = {"scope": scope}
        specs.append(replace(draw.one(makers)(draw), **of_scope))
    weights = list(draw.numbers(len(specs), 3, 1)) if draw.maybe(0.5) else []
    most = list(draw.numbers(draw.items(scope), 3)) if draw.maybe(0.3) else None
    return NoRegressionSpec(specs=specs, weights=weights, scope=scope, most=most)


def _members(draw: Draw, depth: int = 1) -> list[Spec]:
    """Return specs that can be constraints. Some may be made of specs again."""
    names = sorted(set(GENERATORS) - GOALS_ONLY - {"LogicalAndSpec", "LogicalOrSpec"})
    found: list[Spec] = []
    for _ in range(int(draw.rng.integers(1, 4))):
        if depth < DEPTH_MAX and draw.maybe(0.15):
            kind = draw.one((LogicalAndSpec, LogicalOrSpec))
            found.append(kind(specs=_members(draw, depth + 1)))
        elif draw.maybe(0.1):
            found.append(own_spec(draw))
        else:
            found.append(GENERATORS[draw.one(names)](draw))
    return found
