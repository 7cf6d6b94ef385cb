"""Draw a tiny world, and arguments of its specs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

import numpy as np

from benchmarks.fuzz.case import Case
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.limit import Limit, LimitType

E = TypeVar("E", bound=Enum)
T = TypeVar("T")
Name = str | int
FINE = (0.3, 0.5, 0.7, 1.3, 2.25)
"""Numbers with fractions."""


class Draw:
    """Random draws about a world. The caller sets the case first."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.case = Case(objects=0, containers=1, initial=())

    def maybe(self, share: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < share)

    def one(self, of: Sequence[T]) -> T:
        """Return a random element."""
        return of[int(self.rng.integers(len(of)))]

    def member(self, kind: type[E]) -> E:
        """Return a random member of an enum."""
        return self.one(list(kind))

    def whole(self, most: int, least: int = 0) -> float:
        """Return a random whole number from least to most."""
        return float(self.rng.integers(least, most + 1))

    def number(self, most: int = 4) -> float:
        """Return a random number, mostly small and whole."""
        return self.one(FINE) if self.maybe(0.15) else self.whole(most)

    def numbers(self, size: int, most: int = 4, least: int = 0) -> tuple[float, ...]:
        """Return `size` random numbers."""
        if self.maybe(0.25):
            return (self.whole(most, least),) * size
        return tuple(self.one(FINE) if self.maybe(0.1) else self.whole(most, least) for _ in range(size))

    def some(self, size: int, least: int = 0) -> list[int]:
        """Return a few of `size` indices, in any order."""
        if size == 0:
            return []
        count = int(self.rng.integers(min(least, size), size + 1))
        return [int(k) for k in self.rng.permutation(size)[:count]]

    def ref(self, noun: str, index: int) -> Name:
        """Return a reference to an item, by name or number."""
        return f"{noun}-{index}" if self.case.named and self.maybe(0.5) else index

    def refs(self, noun: str, size: int, least: int = 0) -> list[Name]:
        """Return references to a few of `size` items, by name or number."""
        return [self.ref(noun, k) for k in self.some(size, least)]

    def scope(self) -> str:
        """Return a random scope, the containers in half of the cases."""
        return "container" if self.maybe(0.5) else self.one(["container", *self.case.scopes])

    def items(self, scope: str) -> int:
        """Return the number of items of a scope."""
        return self.case.containers if scope == "container" else self.case.scopes[scope].items

    def partition(self) -> str:
        """Return a random partition."""
        return self.one(list(self.case.partitions))

    def groups(self, partition: str) -> int:
        """Return the number of groups of a partition."""
        return self.case.partitions[partition].groups

    def dimension(self) -> str:
        """Return a random dimension, possibly `count`."""
        return self.one(["count", *self.case.dimensions])

    def counted(self) -> str:
        """Return a dimension, mostly `count`."""
        return "count" if self.maybe(0.5) else self.dimension()

    def flavour(self) -> Flavour:
        """Return a random flavour, AFTER in at least half of the cases."""
        return Flavour.AFTER if self.maybe(0.5) else self.member(Flavour)

    def capacitated(self, scope: str) -> str:
        """Return a dimension with a capacity in a scope; `count` if there is none."""
        known = [
            name
            for name, words in self.case.dimensions.items()
            if words.containers is not None or scope in dict(words.capacities)
        ]
        return self.one(known) if known else "count"

    def filter(self, scope: str) -> Filter:
        """Return a random filter, mostly of all items."""
        if self.maybe(0.6):
            return Filter()
        refs = self.refs(scope, self.items(scope))
        return Filter(items=refs) if self.maybe(0.4) else Filter(but=refs)

    def item_limit(self, scope: str, dimension: str, most: int = 5) -> Limit:
        """Return a limit by item: a share of its capacity if it has one."""
        words = self.case.dimensions.get(dimension)
        relative = words is not None and (words.containers is not None or scope in dict(words.capacities))
        if relative and self.maybe(0.6):
            return Limit(type=LimitType.RELATIVE, default=self.one((1.0, 1.0, 0.5, 0.8, 1.5, 0.0)))
        unit = 1.0 if words is None or self.maybe(0.2) else words.unit
        default = unit * self.number(most)
        if words is not None and words.signed and self.maybe(0.2):
            default = -default
        if self.maybe(0.7):
            return Limit(default=default)
        size = self.items(scope)
        if self.maybe(0.5):
            each: dict[Name, float] = {self.ref(scope, k): unit * self.number(most) for k in self.some(size)}
            return Limit(default=default, items=each)
        return Limit(default=default, items=[unit * value for value in self.numbers(size, most)])

    def group_limit(self, partition: str, *, relative: bool, most: int = 3) -> Limit:
        """Return a limit by group."""
        size = self.groups(partition)
        kind = LimitType.RELATIVE if relative and self.maybe(0.4) else LimitType.ABSOLUTE
        top = 1 if kind is LimitType.RELATIVE else most
        default = self.number(top)
        if self.maybe(0.7):
            return Limit(type=kind, default=default)
        if self.maybe(0.5):
            return Limit(
                type=kind, default=default, groups={self.ref(partition, k): self.number(top) for k in self.some(size)}
            )
        return Limit(type=kind, default=default, groups=list(self.numbers(size, top)))
