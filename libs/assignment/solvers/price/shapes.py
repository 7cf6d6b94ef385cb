"""Containers that only their free room tells apart are of one shape, objects that may go to the same of one kind."""

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
"""With more, containers whose room is nearly the same are of one shape."""
PER_OCTAVE = (8, 4, 2, 1, 0)
"""How nearly, as steps to a doubling: the first that leaves few enough; 0: room tells no containers apart."""
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


def places_of(
    worth: list[Worth], bans: list[Ban], capacity: Floats, outs: Bools
) -> tuple[list[Worth], list[Ban], Places]:
    """Shapes and kinds, and the worth and bans that they keep.

    Where worth by place makes too many shapes it is left out, and then bans are.
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
    """(C,) and one container of each shape, or None where there are too many."""
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
    """(C,) the same number for containers in which every class of objects has the same factor."""
    number = np.unique(one.table.T, axis=0, return_inverse=True)[1].reshape(-1)
    return np.append(number, -1)[one.scope.item]


def _factor(by_item: ByItem | None, objects: Ints, containers: Ints) -> Floats:
    """(objects, containers) what an object's value is multiplied by."""
    if by_item is None:
        return np.ones((len(objects), len(containers)))
    return np.asarray(by_item.by_container(by_item.classes[objects])[:, containers])


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
