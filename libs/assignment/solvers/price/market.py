"""Represent a market: objects that need room, and containers that offer room.

Containers that differ only in free room have one shape. Objects that may go to the same shapes at the same factors are
of one kind. Shapes of one pool have the same prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Limits on the amount of each group in a scope item (anti-affinity).

    A rule is one spec of that kind. Groups whose limit no assignment can break are left out.

    start   (N + 1,) int   the entries of object o in `group` and `amount` are start[o] to start[o + 1] - 1
    group   (M,) int       the group of each entry
    amount  (M,) float     the amount of the object in that group
    limit   (G,) float     the most that a scope item may hold of each group
    rule    (G,) int       the rule of each group
    item    (R, C) int     the scope item of each container under each rule; -1: no limit there
    name    (G,) str       the name of each group
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

    dimensions  (D,) str         the names of the dimensions
    need        (N, D) float     the demand of each object
    worth       (N, G) float     the weighted worth of each object by each goal
    kind        (N,) int         the kind of each object
    factor      (K, S, G) float  the gain of object o in shape s is sum_g worth[o, g] * factor[kind[o], s, g]
    open        (K, S) bool      whether objects of the kind may go to the shape
    capacity    (C, D) float     the capacity of each container. A missing or larger limit is replaced by slightly more
                                 than the demand of all objects together
    bounded     (C, D) bool      whether the capacity comes from a limit of the problem
    shape       (C,) int         the shape of each container; -1: no object may go there
    pool        (S,) int         the pool of each shape
    fixed       (N,) bool        whether the object must stay in its container
    outside     (N,) int         the container of the object while it is unplaced
    initial     (N,) int         the container of the object at the start
    level       (N,) int         the priority of each object, which rises with its worth; empty if there are too many
                                 different worths
    groups      Groups           the limits of groups
    unit        float            the unit of worth (Compiled.unit)
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
        """Return the gain of object objects[i] in container containers[i], for each i.

        The gain in a container without a shape is 0.
        """
        shape = self.shape[containers]
        if not self.shapes:
            return np.zeros(len(objects))
        found = np.einsum("og,og->o", self.worth[objects], self.factor[self.kind[objects], shape])
        return np.where(shape >= 0, found, 0.0)
