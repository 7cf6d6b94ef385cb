"""Containers that only their free room tells apart are of one shape, objects that may go to the same of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.assignment.arrays import Bools, Floats, Ints
from libs.assignment.dimension import ByItem
from libs.assignment.errors import ModelError
from libs.assignment.expressions.lookup import Lookup
from libs.assignment.prices.room import Room
from libs.assignment.prices.values import Values
from libs.assignment.problem import Problem
from libs.assignment.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.specs.non_accepting import NonAcceptingSpec

Column = NDArray[Any]

SHAPES_MAX = 256
"""More are no shapes: prices then say nothing that a container's own room does not."""
POOLS_MAX = 24
"""Shapes beyond that share prices with those that are nearest in the ratios of what they hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """See Market."""

    kind: Ints
    shape: Ints
    pool: Ints
    factor: Floats
    open: Bools


def places_of(problem: Problem, values: Values, room: Room) -> Places:
    """Raises: ModelError where containers are too different for shapes, or what is not placed breaks a constraint."""
    avoided = _avoided(problem, values.outside)
    liked = [term.dimension.by_item for term in values.terms if term.dimension.by_item is not None]
    columns: list[Column] = [room.capacity[:, k] for k in range(room.capacity.shape[1])]
    columns += [one.scope.item for one in avoided + liked] + [term.counted for term in values.terms]
    shape, first = _alike(columns, len(problem.containers))
    shape[values.outside | ~_accepting(problem)] = -1
    used = np.unique(shape[shape >= 0])
    if len(used) > SHAPES_MAX:
        raise ModelError(f"containers come in {len(used)} shapes; price-and-round takes {SHAPES_MAX} at most")
    shape = np.where(shape >= 0, np.searchsorted(used, shape), -1)
    sample = first[used]
    kind, of_kind = _alike([one.classes for one in avoided + liked], len(problem.objects))
    factor = np.zeros((len(of_kind), len(sample), len(values.terms)))
    nowhere = int(np.argmax(values.outside))
    for g, term in enumerate(values.terms):
        factor[:, :, g] = _factor(term.dimension.by_item, of_kind, sample) * term.counted[sample]
        factor[:, :, g] -= _factor(term.dimension.by_item, of_kind, np.array([nowhere])) * term.counted[nowhere]
    allowed = np.ones(factor.shape[:2], dtype=bool)
    for one in avoided:
        allowed &= _factor(one, of_kind, sample) == 0.0
    return Places(kind=kind, shape=shape, pool=_pools(room.capacity[sample]), factor=factor, open=allowed)


def _avoided(problem: Problem, outside: Bools) -> list[ByItem]:
    """Per spec: 1 where an object of a class may not go."""
    found = []
    for constraint in problem.constraints:
        if not isinstance(constraint.spec, AvoidAssignmentsSpec):
            continue
        (held,) = (part for excess in constraint.excess for part in excess.children())
        assert isinstance(held, Lookup)
        assert held.dimension.by_item is not None
        away = held.dimension.by_item
        items = away.scope.item[outside]
        if away.table[:, items[items >= 0]].any():
            raise constraint.spec.refuse("assignments", "…", "keep objects from where they are when not placed")
        found.append(away)
    return found


def _accepting(problem: Problem) -> Bools:
    """(C,) whether anything may come in."""
    accepting = np.ones(len(problem.containers), dtype=bool)
    for constraint in problem.constraints:
        if isinstance(constraint.spec, NonAcceptingSpec):
            scope = problem.scope(constraint.spec.where, constraint.spec.scope)
            closed = scope.items.indices(constraint.spec.where, constraint.spec.items)
            accepting &= ~np.isin(scope.item, closed)
    return accepting


def _factor(by_item: ByItem | None, objects: Ints, containers: Ints) -> Floats:
    """(objects, containers) what an object's value is multiplied by."""
    if by_item is None:
        return np.ones((len(objects), len(containers)))
    item = by_item.scope.item[containers]
    return np.where(item >= 0, by_item.table[by_item.classes[objects]][:, item], 0.0)


def _alike(columns: Sequence[Column], size: int) -> tuple[Ints, Ints]:
    """(size,) the same number for rows that agree in all columns, and one row of each number."""
    code = np.zeros(size, dtype=np.int64)
    for column in columns:
        values = np.unique(column, return_inverse=True)[1]
        code = np.unique(code * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return code, np.unique(code, return_index=True)[1]


def _pools(capacity: Floats) -> Ints:
    """(S,) each its own; where there are too many, shapes of one capacity are one pool, and then neighbours by the mix
    of what they hold.
    """
    if len(capacity) <= POOLS_MAX:
        return np.arange(len(capacity))
    pool, first = _alike(list(capacity.T), len(capacity))
    if len(first) <= POOLS_MAX:
        return pool
    whole = np.maximum(capacity[first].max(axis=0), 1e-300)
    share = capacity[first] / whole
    mix = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort(mix.T[::-1])] = np.arange(len(first)) * POOLS_MAX // len(first)
    return rank[pool]
