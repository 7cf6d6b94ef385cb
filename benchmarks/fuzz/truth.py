"""What is so of every assignment of a case: its levels, and which hard constraints it makes worse."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.definitions import excess_of, meaning
from benchmarks.fuzz.world import World
from libs.assignment.arrays import Bools, Floats, Ints

NEAR = 1e-6
"""What counts as equal, as a share of a level's size; for elements of constraints, as a number."""
ROUNDING = 1e-12
"""Of the largest number that an element comes to: what sums of floats are off."""


class Truth:
    """Of the assignments of a world: by default all there are.

    priorities  those that occur, in order
    """

    def __init__(self, case: Case, assignments: Ints | None = None) -> None:
        self.case = case
        self.world = World(case, assignments)
        self.priorities = sorted({wish.priority for wish in case.wishes if wish.goal})
        self.meanings = [meaning(self.world, wish.spec) for wish in case.wishes]

    @cached_property
    def at_start(self) -> Truth:
        """Of the start alone."""
        return Truth(self.case, self.world.initial[None, :])

    @cached_property
    def levels(self) -> Floats:
        """(A, L) what is broken, and the goals by priority."""
        found = np.zeros((len(self.world), 1 + len(self.priorities)))
        for wish, means in zip(self.case.wishes, self.meanings, strict=True):
            if wish.goal:
                scale = (means.scale if wish.normalise else 1.0) or 1.0
                found[:, 1 + self.priorities.index(wish.priority)] += wish.weight / scale * means.cost
            else:
                found[:, 0] += wish.weight * excess_of(means).sum(axis=1)
        return found

    @cached_property
    def unit(self) -> Floats:
        """(L,) the largest weight of a level; 1 where nothing weighs anything."""
        found = np.zeros(1 + len(self.priorities))
        for wish in self.case.wishes:
            level = 1 + self.priorities.index(wish.priority) if wish.goal else 0
            found[level] = max(found[level], abs(wish.weight))
        return np.where(found > 0, found, 1.0)

    @cached_property
    def size(self) -> Floats:
        """(L,) how large the numbers are that a level is the sum of: what floats and solvers are exact to.

        At least the largest weight, which is what a goal of a size of 1 comes to.
        """
        found = self.unit.copy()
        for wish, means in zip(self.case.wishes, self.meanings, strict=True):
            if wish.goal:
                scale = (means.scale if wish.normalise else 1.0) or 1.0
                most = np.abs(means.cost).max(initial=0.0)
                found[1 + self.priorities.index(wish.priority)] += abs(wish.weight / scale) * most
            else:
                found[0] += wish.weight * excess_of(means).sum(axis=1).max(initial=0.0)
        return found

    @cached_property
    def hard(self) -> Floats:
        """(A, elements) what hard constraints find wrong."""
        parts = [
            excess_of(means)
            for wish, means in zip(self.case.wishes, self.meanings, strict=True)
            if not wish.goal and wish.hard
        ]
        return np.concatenate([np.zeros((len(self.world), 0)), *parts], axis=1)

    @cached_property
    def worse(self) -> Floats:
        """(A,) by how much any hard element is above what it is at the start."""
        return np.asarray((self.hard - self.at_start.hard).max(axis=1, initial=0.0))

    @cached_property
    def slack(self) -> Floats:
        """(elements,) by how much a hard element may be larger and count as equal."""
        return np.asarray(NEAR + ROUNDING * np.abs(self.hard).max(axis=0, initial=0.0))

    @cached_property
    def allowed(self) -> Bools:
        """(A,) no hard element is worse than at the start."""
        return np.asarray((self.hard - self.at_start.hard <= self.slack).all(axis=1))

    def least(self, level: int, above: Floats) -> float:
        """The least that a level is among allowed assignments that are as good as `above` (L,) on all levels before."""
        among = self.allowed.copy()
        for k in range(level):
            among &= self.levels[:, k] <= above[k] + 1e-9 * self.size[k]
        return float(self.levels[among, level].min(initial=np.inf))

    @cached_property
    def best(self) -> Floats:
        """(L,) the best there is, level by level."""
        found = np.zeros(self.levels.shape[1])
        for level in range(len(found)):
            found[level] = self.least(level, found)
        return found
