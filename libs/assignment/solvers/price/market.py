"""Represent objects that need room, and shapes of containers that have it, for pricing and placing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Limits of groups in one scope item (anti-affinity). Groups that no assignment can break are left out.

    start   (N + 1,) int   where an object's entries in `group` and `amount` begin
    group   (M,) int       the groups of the object
    amount  (M,) float     the object's amount in the group
    limit   (G,) float     the most that an item may hold of a group
    rule    (G,) int       the rule that a group belongs to
    item    (R, C) int     the scope item of each container by rule; -1: no limit there
    name    (G,) str       the name of the group
    """

    start: Ints
    group: Ints
    amount: Floats
    limit: Floats
    rule: Ints
    item: Ints
    name: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Market:
    """A placement problem in arrays: N objects, C containers in S shapes, D dimensions, K kinds of objects, G goals.

    dimensions  (D,) str        their names
    need        (N, D) float    demand of an object
    worth       (N, G) float    weighted worth of an object by each goal
    kind        (N,) int        objects of one kind may go to the same shapes, at the same factors
    factor      (K, S, G) float  an object's gain in a shape is sum_g worth[o, g] * factor[kind, shape, g]
    open        (K, S) bool     whether it may go there
    capacity    (C, D) float    capacity of a container; at most the demand of all objects together
    bounded     (C, D) bool     whether that is a stated limit
    shape       (C,) int        containers of one shape are alike; -1: closed
    pool        (S,) int        shapes of one pool share prices
    fixed       (N,) bool       stays in its container
    outside     (N,) int        the container of an unplaced object
    initial     (N,) int        the container at the start
    level       (N,) int        priority: rises with worth; empty if there are too many different worths
    groups      Groups
    unit        float           the unit of worth (Compiled.unit)
    """

    dimensions: tuple[str, ...]
    need: Floats
    worth: Floats
    kind: Ints
    factor: Floats
    open: Bools
    capacity: Floats
    bounded: Bools
    shape: Ints
    pool: Ints
    fixed: Bools
    outside: Ints
    initial: Ints
    level: Ints
    groups: Groups
    unit: float = 1.0

    @property
    def shapes(self) -> int:
        """Return the number of shapes, S."""
        return len(self.pool)

    @property
    def pools(self) -> int:
        """Return the number of pools, P."""
        return int(self.pool.max(initial=-1)) + 1

    def gain(self, objects: Ints, containers: Ints) -> Floats:
        """Return the gain of each object in its given container, 0 outside."""
        shape = self.shape[containers]
        if not self.shapes:
            return np.zeros(len(objects))
        found = np.einsum("og,og->o", self.worth[objects], self.factor[self.kind[objects], shape])
        return np.where(shape >= 0, found, 0.0)
