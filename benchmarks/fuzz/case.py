"""Hold a problem as plain data: generators draw it, definitions judge it, and scripts state it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.spec import Spec

Numbers = tuple[float, ...]
Indices = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ScopeWords:
    """The arguments of a scope of a problem: the item of each container (-1: no item), and the number of items."""

    item: Indices
    items: int


@dataclass(frozen=True, kw_only=True)
class PartitionWords:
    """The arguments of a partition of a problem: object `member[k]` is in group `group[k]`."""

    member: Indices
    group: Indices
    groups: int


@dataclass(frozen=True, kw_only=True)
class DimensionWords:
    """The arguments of `Problem.add_dimension`. `by_item`: scope, class of each object, and a row of factors per class.

    unit  amounts and limits are multiples of it
    """

    objects: Numbers
    containers: Numbers | None = None
    signed: bool = False
    by_item: tuple[str, Indices, tuple[Numbers, ...]] | None = None
    capacities: tuple[tuple[str, Numbers], ...] = ()
    unit: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A spec, and how to state it: as a goal (with `priority` and `normalise`) or as a constraint (with `hard`)."""

    spec: Spec
    goal: bool
    weight: float = 1.0
    priority: int = 0
    normalise: bool = True
    hard: bool = True


@dataclass(frozen=True, kw_only=True)
class Case:
    """All statements of a problem. If `named`, items have names such as "container-3", made of noun and number."""

    objects: int
    containers: int
    initial: Indices
    named: bool = False
    scopes: dict[str, ScopeWords] = field(default_factory=dict)
    partitions: dict[str, PartitionWords] = field(default_factory=dict)
    dimensions: dict[str, DimensionWords] = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()

    def labels(self, noun: str, size: int) -> int | list[str]:
        """Return the names of `size` items, or just `size` if the case has no names."""
        return [f"{noun}-{k}" for k in range(size)] if self.named else size

    def problem(self) -> Problem:
        """State the problem. Raises the library's errors."""
        problem = Problem(
            objects=self.labels("object", self.objects),
            containers=self.labels("container", self.containers),
            initial=np.array(self.initial, dtype=np.int64),
        )
        for name, scope in self.scopes.items():
            problem.add_scope(name, np.array(scope.item, dtype=np.int64), self.labels(name, scope.items))
        for name, part in self.partitions.items():
            member, group = np.array(part.member, dtype=np.int64), np.array(part.group, dtype=np.int64)
            problem.add_overlapping_partition(name, member, group, self.labels(name, part.groups))
        for name, words in self.dimensions.items():
            by_item = None
            if words.by_item is not None:
                scope_name, classes, table = words.by_item
                size = self.containers if scope_name == "container" else self.scopes[scope_name].items
                by_item = (scope_name, np.array(classes, dtype=np.int64), np.array(table).reshape(len(table), size))
            problem.add_dimension(
                name, words.objects, containers=words.containers, signed=words.signed, by_item=by_item
            )
            for scope_name, values in words.capacities:
                problem.add_capacity(name, scope_name, values, signed=words.signed)
        for wish in self.wishes:
            if wish.goal:
                problem.add_goal(wish.spec, weight=wish.weight, priority=wish.priority, normalise=wish.normalise)
            else:
                problem.add_constraint(wish.spec, hard=wish.hard, weight=wish.weight)
        return problem


def number_of(given: str | int) -> int:
    """Return the index of an item. `given` is the item's name or its index."""
    return int(given.rpartition("-")[2]) if isinstance(given, str) else int(given)


def numbers_of(given: Sequence[str | int]) -> list[int]:
    """Return the indices of items. `given` holds names or indices."""
    return [number_of(one) for one in given]
