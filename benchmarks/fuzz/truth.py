"""Evaluate every assignment of a case: its levels, and the hard constraints that it worsens. A level is one step of the
lexicographic objective: the total excess first, then the goals of each priority.
"""

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
"""Relative tolerance: of a level's size, and of an element of a constraint (absolute for elements below 1)."""
ROUNDING = 1e-12
"""Rounding error of a sum of floats, relative to the largest amount that a spec reads."""

TINY = 1e-300


class Truth:
    """The values of a world's assignments; by default all assignments.

    priorities  those that occur, in order
    """

    def __init__(self, case: Case, assignments: Ints | None = None) -> None:
        self.case = case
        self.world = World(case, assignments)
        self.priorities = sorted({wish.priority for wish in case.wishes if wish.goal})
        self.meanings = [meaning(self.world, wish.spec) for wish in case.wishes]

    @cached_property
    def at_start(self) -> Truth:
        """Return the values of the start alone."""
        return Truth(self.case, self.world.initial[None, :])

    @cached_property
    def _parts(self) -> list[tuple[int, float, Floats, Spec]]:
        """Return for each spec: its level, its factor in the level, its value (A,), and the spec itself."""
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
        """Return the total excess, and the goals by priority, (A, L)."""
        found = np.zeros((len(self.world), 1 + len(self.priorities)))
        for level, by, values, _ in self._parts:
            found[:, level] += by * values
        return found

    @cached_property
    def growth(self) -> Floats:
        """Return the levels less those of the first assignment, (A, L), added up from what each spec differs by.

        A break of 1 beside an equal one of 1e18 counts here. A sum of both in floats loses it.
        """
        found = np.zeros_like(self.levels)
        for level, by, values, _ in self._parts:
            found[:, level] += by * (values - values[0])
        return found

    @cached_property
    def size(self) -> Floats:
        """Return the (L,) size of the numbers that each level sums. Floats and solvers are exact relative to it."""
        found = np.full(1 + len(self.priorities), TINY)
        for level, by, values, spec in self._parts:
            found[level] += abs(by) * (np.abs(values).max(initial=0.0) + ROUNDING / NEAR * self._largest(spec))
        return found

    @cached_property
    def added(self) -> Floats:
        """Return the size of the numbers that a level of each assignment adds up, (A, L).

        Other assignments do not count: 0.003 exceeds 0, even if another assignment would break a limit by a thousand
        million.
        """
        found = np.zeros_like(self.levels)
        for level, by, values, _ in self._parts:
            found[:, level] += np.abs(by * values)
        return found

    def _largest(self, spec: Spec) -> float:
        """Return the largest amount that a spec reads. Its excess consists of amounts of its own dimensions."""
        read = [words for name, words in self.case.dimensions.items() if name in _texts(spec)]
        return float(np.abs([1.0, *(one for words in read for one in words.objects)]).max())

    @cached_property
    def hard(self) -> Floats:
        """Return the excess of the hard constraints, (A, elements)."""
        return np.concatenate([np.zeros((len(self.world), 0)), *(excess for _, excess in self._hard)], axis=1)

    @cached_property
    def _hard(self) -> list[tuple[Spec, Floats]]:
        """Return each hard constraint and its excess, (A, elements)."""
        found = zip(self.case.wishes, self.meanings, strict=True)
        return [(wish.spec, excess_of(means)) for wish, means in found if not wish.goal and wish.hard]

    @cached_property
    def _rounding(self) -> Floats:
        """Return the rounding error of an element of a hard constraint, (elements,)."""
        amounts = [np.full(excess.shape[1], self._largest(spec)) for spec, excess in self._hard]
        most = np.abs(self.hard).max(axis=0, initial=0.0)
        return np.asarray(ROUNDING * np.maximum(most, np.concatenate([np.zeros(0), *amounts])))

    @cached_property
    def worse(self) -> Floats:
        """Return the largest growth of a hard element over the start, (A,)."""
        return np.asarray((self.hard - self.at_start.hard).max(axis=1, initial=0.0))

    @cached_property
    def slack(self) -> Floats:
        """Return the growth of a hard element that counts as equal, (elements,)."""
        most = np.abs(self.hard).max(axis=0, initial=0.0)
        return np.asarray(NEAR * np.minimum(most, 1.0) + self._rounding)

    @cached_property
    def allowed(self) -> Bools:
        """Return whether no hard element is worse than at the start, within the tolerance, (A,)."""
        return np.asarray((self.hard - self.at_start.hard <= self.slack).all(axis=1))

    @cached_property
    def legal(self) -> Bools:
        """Return whether each assignment worsens no hard element, except by rounding, (A,). Bounds and optima refer to
        these.
        """
        return np.asarray((self.hard - self.at_start.hard <= self._rounding).all(axis=1))

    def least(self, level: int, above: Floats) -> float:
        """Return the least value of a level among the legal assignments that are as good as `above` (L,) on all higher
        levels.
        """
        among = self.legal.copy()
        for k in range(level):
            among &= self.levels[:, k] <= above[k] + ROUNDING * self.added[:, k]
        return float(self.levels[among, level].min(initial=np.inf))

    @cached_property
    def best(self) -> Floats:
        """Return the best value of each level in turn, (L,)."""
        found = np.zeros(self.levels.shape[1])
        for level in range(len(found)):
            found[level] = self.least(level, found)
        return found


def _texts(value: object) -> set[str]:
    """Return every string in the fields of a spec and of its members. Names of dimensions are among them."""
    if isinstance(value, str):
        return {value}
    if dataclasses.is_dataclass(value):
        return set().union(*(_texts(getattr(value, each.name)) for each in dataclasses.fields(value)))
    if isinstance(value, tuple | list):
        return set().union(*map(_texts, value))
    return set()
