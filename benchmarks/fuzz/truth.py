"""What is so of every assignment of a case: its levels, and which hard constraints it makes worse."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.definitions import excess_of, meaning
from benchmarks.fuzz.world import World
from libs.assignment.arrays import Bools, Floats, Ints

NEAR = 1e-6
"""What counts as equal, as a share of a level's size, and of what an element of a constraint comes to (or of 1, if it
comes to more).
"""
ROUNDING = 1e-12
"""Of the largest amount that there is in a case: what sums of floats are off."""

TINY = 1e-300


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
    def size(self) -> Floats:
        """(L,) how large the numbers are that a level is the sum of: what floats and solvers are exact to."""
        found = np.full(1 + len(self.priorities), TINY)
        for wish, means in zip(self.case.wishes, self.meanings, strict=True):
            if wish.goal:
                scale = (means.scale if wish.normalise else 1.0) or 1.0
                by, level, values = wish.weight / scale, 1 + self.priorities.index(wish.priority), means.cost
            else:
                by, level, values = wish.weight, 0, excess_of(means).sum(axis=1)
            found[level] += abs(by) * (np.abs(values).max(initial=0.0) + ROUNDING / NEAR * self.largest)
        return found

    @cached_property
    def largest(self) -> float:
        """The largest amount in the case: what is in excess of any room is made of amounts."""
        amounts = [one for words in self.case.dimensions.values() for one in words.objects]
        return float(np.abs([1.0, *amounts]).max())

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
        most = np.abs(self.hard).max(axis=0, initial=0.0)
        return np.asarray(NEAR * np.minimum(most, 1.0) + ROUNDING * np.maximum(most, self.largest))

    @cached_property
    def allowed(self) -> Bools:
        """(A,) no hard element is worse than at the start, up to what may count as equal."""
        return np.asarray((self.hard - self.at_start.hard <= self.slack).all(axis=1))

    @cached_property
    def legal(self) -> Bools:
        """(A,) likewise up to sums of floats alone: what bounds and optima must hold for."""
        exact = ROUNDING * np.maximum(np.abs(self.hard).max(axis=0, initial=0.0), self.largest)
        return np.asarray((self.hard - self.at_start.hard <= exact).all(axis=1))

    def least(self, level: int, above: Floats) -> float:
        """The least that a level is among legal assignments that are as good as `above` (L,) on all levels before."""
        among = self.legal.copy()
        for k in range(level):
            among &= self.levels[:, k] <= above[k] + ROUNDING * self.size[k]
        return float(self.levels[among, level].min(initial=np.inf))

    @cached_property
    def best(self) -> Floats:
        """(L,) the best there is, level by level."""
        found = np.zeros(self.levels.shape[1])
        for level in range(len(found)):
            found[level] = self.least(level, found)
        return found
