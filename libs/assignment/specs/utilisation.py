"""Lookups and scales that specs are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.arrays import Floats
from libs.assignment.expressions.lookup import Lookup
from libs.assignment.flavour import Flavour

if TYPE_CHECKING:
    from libs.assignment.problem import Problem


def utilisation(
    problem: Problem,
    where: str,
    scope: str,
    dimension: str,
    partition: str | None = None,
    flavour: Flavour = Flavour.AFTER,
) -> Lookup:
    """(scope items, groups or 1) of a problem, by the names of its parts."""
    return Lookup(
        scope=problem.scope(where, scope),
        partition=None if partition is None else problem.partition(where, partition),
        dimension=problem.dimension(where, dimension),
        flavour=flavour,
        initial=problem.initial,
    )


def largest_values(problem: Problem, where: str, dimension: str) -> Floats:
    """(N,) the most (by size) that each object takes of a dimension anywhere."""
    found = problem.dimension(where, dimension)
    values = np.abs(found.objects)
    if found.by_item is None:
        return values
    return np.asarray(values * np.abs(found.by_item.table).max(axis=1, initial=0.0)[found.by_item.classes])


def dimension_total(problem: Problem, where: str, dimension: str) -> float:
    """What all objects take together, at most: the usual scale of a goal."""
    return float(largest_values(problem, where, dimension).sum())
