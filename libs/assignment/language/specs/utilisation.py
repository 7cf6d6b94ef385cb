"""Make lookups and scales for specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.expression import Sum
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter, selection

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


def utilisation(
    problem: Problem,
    where: str,
    scope: str,
    dimension: str,
    partition: str | None = None,
    flavour: Flavour = Flavour.AFTER,
) -> Lookup:
    """Return a problem's lookup, (scope items, groups or 1), by the names of its parts."""
    return Lookup(
        scope=problem.scope(where, scope),
        partition=None if partition is None else problem.partition(where, partition),
        dimension=problem.dimension(where, dimension),
        flavour=flavour,
        initial=problem.initial,
    )


def largest_values(problem: Problem, where: str, dimension: str) -> Floats:
    """Return the largest absolute value of each object in any place, (N,)."""
    found = problem.dimension(where, dimension)
    values = np.abs(found.objects)
    if found.by_item is None:
        return values
    return np.asarray(values * np.abs(found.by_item.table).max(axis=1, initial=0.0)[found.by_item.classes])


def dimension_total(problem: Problem, where: str, dimension: str) -> float:
    """Return the largest possible total demand of all objects: the usual scale of a goal."""
    return float(largest_values(problem, where, dimension).sum())


def relative_utilisation(
    problem: Problem,
    where: str,
    scope: str,
    dimension: str,
    kept: Filter,
    flavour: Flavour = Flavour.AFTER,
) -> tuple[Sum, Floats]:
    """Return util / capacity, (I, 1), of the kept scope items with capacity, and their capacities, (I,).

    A dimension without stated capacity has 1 in every item.
    """
    items = problem.scope(where, scope).items
    known = problem.dimension(where, dimension).capacities
    stated = scope in known or CONTAINER in known
    capacity = problem.capacity(where, dimension, scope) if stated else np.ones(len(items))
    rows = kept.kept(where, items)
    rows = rows[capacity[rows] > 0]
    util = utilisation(problem, where, scope, dimension, flavour=flavour)
    return util.mapped(rows=selection(rows, len(items))).scaled(rows=1.0 / capacity[rows]), capacity[rows]
