"""Recognise a market in a compiled problem, and the specs that the market leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.errors import ModelError
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.solvers.price.cells import Ban, Crowd, Read, Worth, read
from libs.assignment.solvers.price.market import Groups, Market
from libs.assignment.solvers.price.shapes import places_of

LEVELS_MAX = 16
"""Most distinct worths that count as priorities."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """A market, and the terms of the priced level outside of the market.

    The priced level is the first level whose goals reward placement.

    worth  the gains in the market. Gains that would make too many shapes are left out
    exact  whether the market allows every assignment that breaks no constraint
    rest   lower bound of the terms of the level outside of the market
    """

    market: Market
    worth: tuple[Worth, ...]
    exact: bool
    rest: float

    def least(self, gain: float) -> float:
        """Return a lower bound of the priced level, if no placement in the market gains more than `gain`."""
        apart = np.where(self.market.fixed, self.market.initial, self.market.outside)
        return self.rest - gain_of(self.worth, apart) - gain


def gain_of(worth: Sequence[Worth], assignment: Ints) -> float:
    """Return the total gain of all objects under `assignment` (N,), summed over the parts `worth`."""
    everyone = np.arange(len(assignment))
    return sum(float(one.of(everyone, assignment).sum()) for one in worth)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """The market of a problem.

    strict    the market for placing. It allows only placements that keep the constraints that were read. An object that
              starts in a container from which it is banned stays there
    read      the contents of the cells
    left_out  the names of specs that the prices do not cover fully
    """

    compiled: Compiled
    strict: Priced
    read: Read
    left_out: tuple[str, ...]

    @cached_property
    def relaxed(self) -> Priced:
        """Return a market that allows every assignment that breaks no constraint more than the start does.

        It has no limits of groups. A container that starts above its limit keeps that much room.
        """
        return _market(self.compiled, self.read, relaxed=True)


def read_market(compiled: Compiled) -> Reading:
    """Read the market of a problem.

    Raises: ModelError if no goal rewards placement, or if there is no container for unplaced objects.
    """
    found = read(compiled)
    strict = _market(compiled, found, relaxed=False)
    return Reading(compiled=compiled, strict=strict, read=found, left_out=tuple(sorted(found.left_out)))


def _market(compiled: Compiled, found: Read, *, relaxed: bool) -> Priced:
    problem = compiled.problem
    initial, everyone = np.asarray(problem.initial), np.arange(len(problem.objects))
    groups = _groups(compiled, [] if relaxed else found.crowds)
    fixed, bans, exact = found.fixed.copy(), list(found.bans), True
    need = np.zeros((len(initial), len(found.rooms)))
    limit = np.zeros((len(problem.containers), len(found.rooms)))
    for d, room in enumerate(found.rooms):
        need[:, d], limit[:, d] = room.need, room.limit
    if relaxed:
        for d in range(need.shape[1]):
            limit[:, d] = np.maximum(limit[:, d], np.bincount(initial, need[:, d], minlength=len(limit)))
        bans = [ban for ban in bans if not ban.of(everyone, initial).any()]
    else:
        held = found.tied.copy()
        for ban in bans:
            if ban.new:
                held |= ban.of(everyone, initial)
        exact = not (held & ~fixed).any()
        fixed |= held
    outs = _outside(found, need, limit, groups, bans)
    outside = np.where(outs[initial], initial, int(np.argmax(outs)))
    if not relaxed:
        for ban in bans:
            kept = ban.new & ban.of(everyone, outside) & (initial != outside)
            exact = exact and not (kept & ~fixed).any()
            fixed |= kept
    bounded = np.isfinite(limit)
    capacity = np.minimum(limit, need.sum(axis=0) + 1.0)
    worth, bans, places = places_of(found.worth, bans, capacity, outs)
    found.left_out |= {one.name for one in found.worth if one not in worth}
    priority = sum((one.value for one in found.worth if one.places), np.zeros(len(initial)))
    levels, level = np.unique(priority, return_inverse=True)
    market = Market(
        dimensions=tuple(room.name for room in found.rooms),
        need=need,
        worth=np.stack([one.value for one in worth], axis=1),
        kind=places.kind,
        factor=places.factor,
        open=places.open,
        capacity=np.maximum(capacity, 0.0),
        bounded=bounded,
        shape=places.shape,
        pool=places.pool,
        fixed=fixed,
        outside=outside,
        initial=initial,
        level=level.astype(np.int64) if len(levels) <= LEVELS_MAX else np.zeros(0, np.int64),
        groups=groups,
        unit=compiled.unit[found.level],
    )
    rest = found.rest - sum(one.most for one in found.worth if one not in worth)
    return Priced(market=market, worth=tuple(worth), exact=exact, rest=rest)


def _outside(found: Read, need: Floats, limit: Floats, groups: Groups, bans: list[Ban]) -> Bools:
    """Return for each container whether it is for unplaced objects, (C,).

    Such a container has room for all objects, no limits of groups, and no bans. Of these containers, it gives the least
    gain.
    """
    free = np.asarray((limit >= need.sum(axis=0)).all(axis=1))
    for item in groups.item:
        free &= item < 0
    for ban in bans:
        if not ban.new:
            free &= ~_banned_somebody(ban)
    if not free.any():
        raise ModelError(
            "the solver price needs a container for unplaced objects: one without limits that accepts every object"
        )
    value = np.sum([_value_of_all(one) for one in found.worth], axis=0)
    first = int(np.flatnonzero(free)[np.argmin(value[free])])
    for one in found.worth:
        scale = one.scale if one.factor is None else _table(one)
        free &= np.asarray((scale == scale[..., first : first + 1]).reshape(-1, len(free)).all(axis=0))
    return free


def _banned_somebody(ban: Ban) -> Bools:
    if ban.factor is None:
        return ban.where & bool(ban.who.any())
    classes = np.unique(ban.factor.classes[ban.who])
    return np.asarray(ban.where & (ban.factor.by_container(classes) > 0).any(axis=0))


def _table(one: Worth) -> Floats:
    """Return for each class of objects and each container the factor of `one` times the scale of `one`, (K, C)."""
    assert one.factor is not None
    return np.asarray(one.factor.by_container() * one.scale)


def _value_of_all(one: Worth) -> Floats:
    """Return the gain of all objects in each container, (C,)."""
    if one.factor is None:
        return np.asarray(one.scale * one.value.sum())
    by_class = np.bincount(one.factor.classes, weights=one.value, minlength=len(one.factor.table))
    return np.asarray(by_class @ _table(one))


def _groups(compiled: Compiled, crowds: list[Crowd]) -> Groups:
    """Return the groups whose objects together exceed the limit of the group. No assignment breaks any other limit."""
    entries: list[Matrix] = [csr((0, len(compiled.problem.objects)))]
    limits, rules = [np.zeros(0)], [np.zeros(0, np.int64)]
    items: list[Ints] = []
    names: list[str] = []
    for crowd in crowds:
        binding = np.flatnonzero(np.asarray(crowd.members.sum(axis=1)).ravel() > crowd.limit)
        if not len(binding):
            continue
        entries.append(csr(crowd.members[binding]))
        limits.append(crowd.limit[binding])
        rules.append(np.full(len(binding), len(items)))
        known = crowd.partition
        names += [f"{crowd.name}, group {g}" if known is None else known.groups.name(int(g)) for g in binding]
        items.append(crowd.item)
    found = csr(sparse.vstack(entries, format="csr").T)
    return Groups(
        start=found.indptr.astype(np.int64),
        group=found.indices.astype(np.int64),
        amount=np.asarray(found.data, dtype=np.float64),
        limit=np.concatenate(limits),
        rule=np.concatenate(rules).astype(np.int64),
        item=np.array(items, dtype=np.int64).reshape(len(items), len(compiled.problem.containers)),
        name=tuple(names),
    )
