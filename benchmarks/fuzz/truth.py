"""What is so of every assignment of a case: its levels, and which hard constraints it makes worse."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.definitions import excess_of, meaning
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.specs.spec import Spec

NEAR = 1e-6
"""What counts as equal, as a share of a level's size, and of what an element of a constraint comes to (or of 1, if it
comes to more).
"""
ROUNDING = 1e-12
"""Of the largest amount that a spec reads: the error of a sum of floats."""

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
    def _parts(self) -> list[tuple[int, float, Floats, Spec]]:
        """Of each wish its level, what it is multiplied by there, its value (A,), and its spec."""
        found = []
        for wish, means in zip(self.case.wishes, self.meanings, strict=True):
            if wish.goal:
                scale = (means.scale if wish.normalise else 1.0) or 1.0
                found.append((1 + self.priorities.index(wish.priority), wish.weight / scale, means.cost, wish.spec))
            else:
                found.append((0, wish.weight, excess_of(means).sum(axis=1), wish.spec))
        return found

    @cached_property
    def levels(self) -> Floats:
        """(A, L) what is broken, and the goals by priority."""
        found = np.zeros((len(self.world), 1 + len(self.priorities)))
        for level, by, values, _ in self._parts:
            found[:, level] += by * values
        return found

    @cached_property
    def size(self) -> Floats:
        """(L,) how large the numbers are that a level is the sum of: what floats and solvers are exact to."""
        found = np.full(1 + len(self.priorities), TINY)
        for level, by, values, spec in self._parts:
            found[level] += abs(by) * (np.abs(values).max(initial=0.0) + ROUNDING / NEAR * self._largest(spec))
        return found

    @cached_property
    def added(self) -> Floats:
        """(A, L) how large the numbers are that a level of an assignment adds up. What others come to is no part of
        it: 0.003 is more than 0, though another assignment would break a limit by a thousand million.
        """
        found = np.zeros_like(self.levels)
        for level, by, values, _ in self._parts:
            found[:, level] += np.abs(by * values)
        return found

    def _largest(self, spec: Spec) -> float:
        """The largest amount that a spec reads: an excess is made of the amounts of its own dimensions."""
        read = [words for name, words in self.case.dimensions.items() if name in _texts(spec)]
        return float(np.abs([1.0, *(one for words in read for one in words.objects)]).max())

    @cached_property
    def hard(self) -> Floats:
        """(A, elements) excess of the hard constraints."""
        return np.concatenate([np.zeros((len(self.world), 0)), *(excess for _, excess in self._hard)], axis=1)

    @cached_property
    def _hard(self) -> list[tuple[Spec, Floats]]:
        """Each hard constraint and its (A, elements) excess."""
        found = zip(self.case.wishes, self.meanings, strict=True)
        return [(wish.spec, excess_of(means)) for wish, means in found if not wish.goal and wish.hard]

    @cached_property
    def _rounding(self) -> Floats:
        """(elements,) the error of the sums of floats in an element of a hard constraint."""
        amounts = [np.full(excess.shape[1], self._largest(spec)) for spec, excess in self._hard]
        most = np.abs(self.hard).max(axis=0, initial=0.0)
        return np.asarray(ROUNDING * np.maximum(most, np.concatenate([np.zeros(0), *amounts])))

    @cached_property
    def worse(self) -> Floats:
        """(A,) by how much any hard element is above what it is at the start."""
        return np.asarray((self.hard - self.at_start.hard).max(axis=1, initial=0.0))

    @cached_property
    def slack(self) -> Floats:
        """(elements,) by how much a hard element may be larger and count as equal."""
        most = np.abs(self.hard).max(axis=0, initial=0.0)
        return np.asarray(NEAR * np.minimum(most, 1.0) + self._rounding)

    @cached_property
    def allowed(self) -> Bools:
        """(A,) no hard element is worse than at the start, up to what may count as equal."""
        return np.asarray((self.hard - self.at_start.hard <= self.slack).all(axis=1))

    @cached_property
    def legal(self) -> Bools:
        """(A,) likewise up to sums of floats alone: what bounds and optima must hold for."""
        return np.asarray((self.hard - self.at_start.hard <= self._rounding).all(axis=1))

    def least(self, level: int, above: Floats) -> float:
        """The least that a level is among legal assignments that are as good as `above` (L,) on all levels before."""
        among = self.legal.copy()
        for k in range(level):
            among &= self.levels[:, k] <= above[k] + ROUNDING * self.added[:, k]
        return float(self.levels[among, level].min(initial=np.inf))

    @cached_property
    def best(self) -> Floats:
        """(L,) the best there is, level by level."""
        found = np.zeros(self.levels.shape[1])
        for level in range(len(found)):
            found[level] = self.least(level, found)
        return found


def _texts(value: object) -> set[str]:
    """Every string in the fields of a spec, of the specs in it too: names of dimensions are among them."""
    if isinstance(value, str):
        return {value}
    if dataclasses.is_dataclass(value):
        return set().union(*(_texts(getattr(value, each.name)) for each in dataclasses.fields(value)))
    if isinstance(value, tuple | list):
        return set().union(*map(_texts, value))
    return set()
