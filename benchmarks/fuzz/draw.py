"""Draws of a tiny world and of the words that its specs are stated with."""

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
"""Numbers that are not whole."""


class Draw:
    """Random words about a world: a case, which whoever draws it sets first."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.case = Case(objects=0, containers=1, initial=())

    def maybe(self, share: float) -> bool:
        """Yes, so often."""
        return bool(self.rng.random() < share)

    def one(self, of: Sequence[T]) -> T:
        """Any of some."""
        return of[int(self.rng.integers(len(of)))]

    def member(self, kind: type[E]) -> E:
        """Any member of an enum."""
        return self.one(list(kind))

    def whole(self, most: int, least: int = 0) -> float:
        """A number from least to most."""
        return float(self.rng.integers(least, most + 1))

    def number(self, most: int = 4) -> float:
        """Mostly a small whole one."""
        return self.one(FINE) if self.maybe(0.15) else self.whole(most)

    def numbers(self, size: int, most: int = 4, least: int = 0) -> tuple[float, ...]:
        """As many."""
        if self.maybe(0.25):
            return (self.whole(most, least),) * size
        return tuple(self.one(FINE) if self.maybe(0.1) else self.whole(most, least) for _ in range(size))

    def some(self, size: int, least: int = 0) -> list[int]:
        """A few of so many, in any order."""
        if size == 0:
            return []
        count = int(self.rng.integers(min(least, size), size + 1))
        return [int(k) for k in self.rng.permutation(size)[:count]]

    def ref(self, noun: str, index: int) -> Name:
        """By name or number."""
        return f"{noun}-{index}" if self.case.named and self.maybe(0.5) else index

    def refs(self, noun: str, size: int, least: int = 0) -> list[Name]:
        """A few of so many, by name or number."""
        return [self.ref(noun, k) for k in self.some(size, least)]

    def scope(self) -> str:
        """Of containers alone half of the time."""
        return "container" if self.maybe(0.5) else self.one(["container", *self.case.scopes])

    def items(self, scope: str) -> int:
        """How many a scope has."""
        return self.case.containers if scope == "container" else self.case.scopes[scope].items

    def partition(self) -> str:
        """Any."""
        return self.one(list(self.case.partitions))

    def groups(self, partition: str) -> int:
        """How many a partition has."""
        return self.case.partitions[partition].groups

    def dimension(self) -> str:
        """Any, `count` among them."""
        return self.one(["count", *self.case.dimensions])

    def counted(self) -> str:
        """Mostly objects alone."""
        return "count" if self.maybe(0.5) else self.dimension()

    def flavour(self) -> Flavour:
        """Any, AFTER half of the time at least."""
        return Flavour.AFTER if self.maybe(0.5) else self.member(Flavour)

    def capacitated(self, scope: str) -> str:
        """A dimension that has a capacity in a scope; `count` where there is none."""
        known = [
            name
            for name, words in self.case.dimensions.items()
            if words.containers is not None or scope in dict(words.capacities)
        ]
        return self.one(known) if known else "count"

    def filter(self, scope: str) -> Filter:
        """Mostly all."""
        if self.maybe(0.6):
            return Filter()
        refs = self.refs(scope, self.items(scope))
        return Filter(items=refs) if self.maybe(0.4) else Filter(but=refs)

    def item_limit(self, scope: str, dimension: str, most: int = 5) -> Limit:
        """By item: a share of its capacity, where it has one."""
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
        """By group."""
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
