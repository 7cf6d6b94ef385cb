"""Objects that want room, and shapes of containers that have it: what pricing and placing work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """At most so much of a group in one scope item: anti-affinity. Groups that no assignment breaks are left out.

    start   (N + 1,) int   where an object's entries in `group` and `amount` begin
    group   (M,) int       the groups that it is in
    amount  (M,) float     what it counts for there
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
    need        (N, D) float    what an object takes
    worth       (N, G) float    what it is worth by each goal, weighted
    kind        (N,) int        objects of one kind may go to the same shapes, at the same factors
    factor      (K, S, G) float  an object's gain in a shape is sum_g worth[o, g] * factor[kind, shape, g]
    open        (K, S) bool     whether it may go there
    capacity    (C, D) float    what a container holds; never more than all objects together take
    bounded     (C, D) bool     whether that is a limit that was stated
    shape       (C,) int        containers of one shape are alike; -1: not to be placed in
    pool        (S,) int        shapes of one pool share prices
    fixed       (N,) bool       stays where it is
    outside     (N,) int        where an object is when it is not placed
    initial     (N,) int        where it is at the start
    level       (N,) int        priority: rises with worth; empty where there are too many to speak of
    groups      Groups
    unit        float           what a worth of 1 stands for (Compiled.unit)
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
        """S."""
        return len(self.pool)

    @property
    def pools(self) -> int:
        """P."""
        return int(self.pool.max(initial=-1)) + 1

    def gain(self, objects: Ints, containers: Ints) -> Floats:
        """What each object gains in the container given for it, 0 outside."""
        shape = self.shape[containers]
        if not self.shapes:
            return np.zeros(len(objects))
        found = np.einsum("og,og->o", self.worth[objects], self.factor[self.kind[objects], shape])
        return np.where(shape >= 0, found, 0.0)
