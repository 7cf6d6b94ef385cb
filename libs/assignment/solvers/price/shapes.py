"""Group containers that differ only in free room into shapes, and objects with the same allowed shapes into kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.dimension import ByItem
from libs.assignment.solvers.price.cells import Ban, Worth

Column = NDArray[Any]

SHAPES_MAX = 256
"""Most shapes; with more, containers with nearly the same room share one."""
PER_OCTAVE = (8, 4, 2, 1, 0)
"""Resolutions of room, in steps per doubling of the room; 0: room is ignored.

The first resolution that gives at most SHAPES_MAX shapes is used.
"""
POOLS_MAX = 24
"""Most pools. With more shapes, shapes with a similar mix of capacities share a pool, and so prices."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """The fields of Market with the shapes of containers and the kinds of objects."""

    kind: Ints
    shape: Ints
    pool: Ints
    factor: Floats
    open: Bools


def places_of(
    worth: list[Worth], bans: list[Ban], capacity: Floats, outs: Bools
) -> tuple[list[Worth], list[Ban], Places]:
    """Return the parts of `worth` and `bans` that the shapes respect, and the shapes and kinds.

    Containers of one shape must be alike in worth and bans. If this makes more than SHAPES_MAX shapes, every worth with
    a factor is left out. If there are still too many shapes, all bans are left out too.

    outs  (C,) whether a container is for unplaced objects. Such containers have no shape
    """
    plain = [one for one in worth if one.factor is None]
    for kept, banned in ((worth, bans), (plain, bans), (plain, [])):
        found = _shapes(kept, banned, capacity, outs)
        if found is not None:
            break
    assert found is not None
    shape, first = found
    closed = np.zeros(len(shape), dtype=bool)
    for ban in banned:
        closed |= ban.where & bool(ban.who.all()) if ban.factor is None else False
    shape = np.where(outs | closed, -1, shape)
    used = np.unique(shape[shape >= 0])
    sample = first[used]
    shape = np.where(shape >= 0, np.searchsorted(used, shape), -1)
    columns = [ban.who if ban.factor is None else np.where(ban.who, ban.factor.classes, -1) for ban in banned]
    columns += [one.factor.classes for one in kept if one.factor is not None]
    objects = len(worth[0].value)
    kind, of_kind = _alike(columns, objects)
    nowhere = np.flatnonzero(outs)[:1]
    factor = np.zeros((len(of_kind), len(sample), len(kept)))
    for g, one in enumerate(kept):
        factor[:, :, g] = _factor(one.factor, of_kind, sample) * one.scale[sample]
        factor[:, :, g] -= _factor(one.factor, of_kind, nowhere) * one.scale[nowhere]
    allowed = np.ones(factor.shape[:2], dtype=bool)
    for ban in banned:
        allowed &= ~(ban.who[of_kind][:, None] & ban.where[sample] & (_factor(ban.factor, of_kind, sample) > 0))
    found_places = Places(kind=kind, shape=shape, pool=_pools(capacity[sample]), factor=factor, open=allowed)
    return kept, banned, found_places


def _shapes(worth: list[Worth], bans: list[Ban], capacity: Floats, outs: Bools) -> tuple[Ints, Ints] | None:
    """Return the shape of each container, (C,), and one container of each shape.

    Return None if there are more than SHAPES_MAX shapes at any resolution of room.
    """
    columns: list[Column] = [one.scale for one in worth] + [ban.where for ban in bans]
    factors = [one.factor for one in worth] + [ban.factor for ban in bans]
    columns += [_alike_items(one) for one in factors if one is not None]
    room = [capacity[:, d] for d in range(capacity.shape[1])]
    for steps in (None, *PER_OCTAVE):
        if steps is not None:
            room = [np.ceil(np.log2(np.maximum(one, 1e-300)) * steps) if steps else np.zeros(0) for one in capacity.T]
        shape, first = _alike([*columns, *(one for one in room if len(one))], len(outs))
        if len(np.unique(shape[~outs])) <= SHAPES_MAX:
            return shape, first
    return None


def _alike_items(one: ByItem) -> Ints:
    """Return equal numbers for containers in which every class of objects has the same factor, (C,)."""
    number = np.unique(one.table.T, axis=0, return_inverse=True)[1].reshape(-1)
    return np.append(number, -1)[one.scope.item]


def _factor(by_item: ByItem | None, objects: Ints, containers: Ints) -> Floats:
    """Return the factor of `by_item` for each pair of `objects` and `containers`, (objects, containers).

    Without `by_item` all factors are 1.
    """
    if by_item is None:
        return np.ones((len(objects), len(containers)))
    return np.asarray(by_item.by_container(by_item.classes[objects])[:, containers])


def _alike(columns: Sequence[Column], size: int) -> tuple[Ints, Ints]:
    """Return a number for each row, (size,), and one row of each number.

    Rows that are equal in all `columns` have the same number.
    """
    code = np.zeros(size, dtype=np.int64)
    for column in columns:
        values = np.unique(column, return_inverse=True)[1]
        code = np.unique(code * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return code, np.unique(code, return_index=True)[1]


def _pools(capacity: Floats) -> Ints:
    """Return the pool of each shape, (S,).

    If there are at most POOLS_MAX shapes, each shape has a pool of its own. Otherwise shapes of equal capacity share a
    pool. If there are still more than POOLS_MAX pools, shapes with a similar mix of capacities share a pool.
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
