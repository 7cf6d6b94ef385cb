"""Draw random arguments for the specs of a tiny problem (`case`)."""

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
    """Random draws about `case`, the problem under construction. The caller must set `case` first."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.case = Case(objects=0, containers=1, initial=())

    def maybe(self, share: float) -> bool:
        """Return True with probability `share`."""
        return bool(self.rng.random() < share)

    def one(self, of: Sequence[T]) -> T:
        """Return a random element of the sequence `of`."""
        return of[int(self.rng.integers(len(of)))]

    def member(self, kind: type[E]) -> E:
        """Return a random member of the enum `kind`."""
        return self.one(list(kind))

    def whole(self, most: int, least: int = 0) -> float:
        """Return a random whole number from `least` to `most`, both included."""
        return float(self.rng.integers(least, most + 1))

    def number(self, most: int = 4) -> float:
        """Return a random number: in 15 % of the draws one of FINE, else a whole number up to `most`."""
        return self.one(FINE) if self.maybe(0.15) else self.whole(most)

    def numbers(self, size: int, most: int = 4, least: int = 0) -> tuple[float, ...]:
        """Return `size` random numbers."""
        if self.maybe(0.25):
            return (self.whole(most, least),) * size
        return tuple(self.one(FINE) if self.maybe(0.1) else self.whole(most, least) for _ in range(size))

    def some(self, size: int, least: int = 0) -> list[int]:
        """Return at least `least` different random indices below `size`, in random order."""
        if size == 0:
            return []
        count = int(self.rng.integers(min(least, size), size + 1))
        return [int(k) for k in self.rng.permutation(size)[:count]]

    def ref(self, noun: str, index: int) -> Name:
        """Return a reference to the item `index`: its number, or its name if the case has names."""
        return f"{noun}-{index}" if self.case.named and self.maybe(0.5) else index

    def refs(self, noun: str, size: int, least: int = 0) -> list[Name]:
        """Return references to at least `least` different random items of `size`, each by number or name."""
        return [self.ref(noun, k) for k in self.some(size, least)]

    def scope(self) -> str:
        """Return the name of a random scope. At least half of the draws return "container", the scope in which every
        container is an item.
        """
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
        """Return `count` in at least half of the draws, else a random dimension."""
        return "count" if self.maybe(0.5) else self.dimension()

    def flavour(self) -> Flavour:
        """Return a random flavour. At least half of the draws return AFTER."""
        return Flavour.AFTER if self.maybe(0.5) else self.member(Flavour)

    def capacitated(self, scope: str) -> str:
        """Return a random dimension that has a capacity in `scope`; `count` if no dimension has one."""
        known = [
            name
            for name, words in self.case.dimensions.items()
            if words.containers is not None or scope in dict(words.capacities)
        ]
        return self.one(known) if known else "count"

    def filter(self, scope: str) -> Filter:
        """Return a random filter over the items of `scope`. In 60 % of the draws the filter keeps all items."""
        if self.maybe(0.6):
            return Filter()
        refs = self.refs(scope, self.items(scope))
        return Filter(items=refs) if self.maybe(0.4) else Filter(but=refs)

    def item_limit(self, scope: str, dimension: str, most: int = 5) -> Limit:
        """Return a random limit on `dimension` for the items of `scope`. Most limits are a share of the capacity if the
        dimension has a capacity there.
        """
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
        """Return a random limit for the groups of `partition`. `relative` allows limits that are shares."""
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
