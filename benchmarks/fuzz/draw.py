"""Draws of a tiny world and of the words that its specs are stated with."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

import numpy as np

from benchmarks.fuzz.case import Case, DimensionWords, PartitionWords, ScopeWords
from libs.assignment.specs.filter import Filter
from libs.assignment.specs.limit import Limit, LimitType

E = TypeVar("E", bound=Enum)
T = TypeVar("T")
Name = str | int
ODD = 0.08
"""How often something is of a shape that few problems have: no group, no capacity, one container."""
VAST = 1e9
FINE = (0.3, 0.5, 0.7, 1.3, 2.25)
"""Numbers that are not whole."""


class Draw:
    """One random world, and random words about it."""

    def __init__(self, rng: np.random.Generator, assignments_max: int) -> None:
        self.rng = rng
        self.case = self._world(assignments_max)

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
        default = self.number(most)
        if words is not None and words.signed and self.maybe(0.2):
            default = -default
        if self.maybe(0.7):
            return Limit(default=default)
        size = self.items(scope)
        if self.maybe(0.5):
            return Limit(default=default, items={self.ref(scope, k): self.number(most) for k in self.some(size)})
        return Limit(default=default, items=list(self.numbers(size, most)))

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

    def _world(self, assignments_max: int) -> Case:
        """At most so many assignments."""
        containers = 1 if self.maybe(ODD / 2) else int(self.rng.integers(2, 5))
        most = 7 if containers == 1 else min(7, int(np.log(assignments_max + 0.5) / np.log(containers)))
        objects = 0 if self.maybe(ODD / 4) else int(self.rng.integers(1, most + 1))
        initial = tuple(int(c) for c in self.rng.integers(containers, size=objects))
        if self.maybe(0.2):  # everything waits in one place
            initial = (containers - 1,) * objects
        scopes = {}
        for name in ("rack", "zone")[: int(self.rng.integers(3))]:
            items = 0 if self.maybe(ODD / 2) else int(self.rng.integers(1, 4))
            low = -1 if items == 0 or self.maybe(0.3) else 0
            scopes[name] = ScopeWords(
                item=tuple(int(i) for i in self.rng.integers(low, items, containers)), items=items
            )
        partitions = {"job": self._partition(objects, overlap=False), "team": self._partition(objects, overlap=True)}
        case = Case(
            objects=objects,
            containers=containers,
            initial=initial,
            named=self.maybe(0.2),
            scopes=scopes,
            partitions=partitions,
        )
        self.case = case
        for name in ("cpu", "memory", "debt", "like")[: int(self.rng.integers(1, 5))]:
            case.dimensions[name] = self._dimension(name)
        return case

    def _partition(self, objects: int, *, overlap: bool) -> PartitionWords:
        groups = 0 if self.maybe(ODD / 4) else int(self.rng.integers(1, 4))
        share = 0.0 if self.maybe(ODD) else 0.6
        pairs = []
        for o in range(objects if groups else 0):
            if overlap:
                pairs += [(o, g) for g in range(groups) if self.maybe(share)]
            elif self.maybe(0.9):
                pairs.append((o, int(self.rng.integers(groups))))
        return PartitionWords(member=tuple(o for o, _ in pairs), group=tuple(g for _, g in pairs), groups=groups)

    def _dimension(self, name: str) -> DimensionWords:
        """`debt` has a sign, `like` differs by place, the others are what machines have."""
        objects, containers = self.case.objects, self.case.containers
        signed = name == "debt" or (name == "like" and self.maybe(0.4))
        least = -3 if signed else 0
        if name == "debt":
            return DimensionWords(objects=self.numbers(objects, 3, least), signed=True)
        if name == "like":
            scope = self.scope()
            classes = int(self.rng.integers(1, 3))
            table = tuple(self.numbers(self.items(scope), 4, least) for _ in range(classes))
            of = tuple(int(k) for k in self.rng.integers(classes, size=objects))
            values = (1.0,) * objects if self.maybe(0.6) else self.numbers(objects, 3, least)
            capacity = self.numbers(containers, 8) if self.maybe(0.4) else None
            return DimensionWords(objects=values, containers=capacity, signed=signed, by_item=(scope, of, table))
        values = self.numbers(objects, 4, 0 if self.maybe(0.3) else 1)
        if self.maybe(0.2):  # all alike
            values = (2.0,) * objects
        unit = VAST if self.maybe(ODD) else 1.0  # bytes, say
        values = tuple(unit * value for value in values)
        if unit == 1.0 and self.maybe(ODD / 2):  # as good as no limit
            unit = VAST
        capacity = tuple(unit * value for value in self.numbers(containers, 9)) if self.maybe(0.85) else None
        capacities = tuple(
            (scope, tuple(unit * value for value in self.numbers(self.items(scope), 12)))
            for scope in self.case.scopes
            if self.maybe(0.3)
        )
        return DimensionWords(objects=values, containers=capacity, capacities=capacities)
