"""Hold all assignments of a tiny problem, and compute the utilisation in every assignment from its definition."""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np

from benchmarks.fuzz.case import Case, numbers_of
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.filter import Filter


class World:
    """A drawn problem (`case`) and A assignments of its N objects to its C containers, as an (A, N) array. By default
    `assignments` holds every possible assignment.

    This class is an independent check of the library. It follows docs/assignment, and takes from the library only enums
    and fields of specs, no computation.
    """

    def __init__(self, case: Case, assignments: Ints | None = None) -> None:
        self.case = case
        self.initial = np.array(case.initial, dtype=np.int64)
        if assignments is None:
            every = list(itertools.product(range(case.containers), repeat=case.objects))
            assignments = np.array(every, dtype=np.int64).reshape(len(every), case.objects)
        self.assignments: Ints = assignments
        self._known: dict[tuple[object, ...], Floats] = {}

    @cached_property
    def at_start(self) -> World:
        """Return a world of the same case with one assignment: the initial one."""
        return World(self.case, self.initial[None, :])

    def __len__(self) -> int:
        return len(self.assignments)

    def item(self, scope: str) -> Ints:
        """Return the scope item of each container, (C,); -1 for none."""
        if scope == "container":
            return np.arange(self.case.containers)
        return np.array(self.case.scopes[scope].item, dtype=np.int64)

    def items(self, scope: str) -> int:
        """Return the number of items of a scope."""
        return self.case.containers if scope == "container" else self.case.scopes[scope].items

    def kept(self, scope: str, by: Filter) -> Ints:
        """Return the items of `scope` that the filter `by` keeps, in ascending order."""
        every = set(range(self.items(scope)))
        left = every - set(numbers_of(by.but or ())) if by.items is None else set(numbers_of(by.items))
        return np.array(sorted(left), dtype=np.int64)

    def value(self, dimension: str, where: Ints) -> Floats:
        """Return the (A, N) value in `dimension` of each object in the container `where[a, n]`. `where` has shape (A,
        N).
        """
        if dimension == "count":
            return np.ones(where.shape)
        words = self.case.dimensions[dimension]
        value = np.broadcast_to(np.array(words.objects, dtype=np.float64), where.shape)
        if words.by_item is None:
            return value
        scope, classes, table = words.by_item
        factors = np.array(table, dtype=np.float64).reshape(len(table), self.items(scope))
        if not self.items(scope):
            return np.zeros(where.shape)
        item = self.item(scope)[where]
        return np.where(item >= 0, value * factors[np.array(classes, dtype=np.int64), item], 0.0)

    def largest(self, dimension: str) -> Floats:
        """Return the (N,) largest absolute value in `dimension` that each object has in any scope item; 0 if the scope
        has no item.
        """
        if dimension == "count":
            return np.ones(self.case.objects)
        words = self.case.dimensions[dimension]
        value = np.abs(np.array(words.objects, dtype=np.float64))
        if words.by_item is None:
            return value
        scope, classes, table = words.by_item
        factors = np.abs(np.array(table, dtype=np.float64).reshape(len(table), self.items(scope)))
        return np.asarray(value * factors.max(axis=1, initial=0.0)[np.array(classes, dtype=np.int64)])

    def members(self, partition: str) -> list[list[int]]:
        """Return the objects of each group."""
        words = self.case.partitions[partition]
        of: list[list[int]] = [[] for _ in range(words.groups)]
        for member, group in zip(words.member, words.group, strict=True):
            of[group].append(member)
        return of

    def capacity(self, dimension: str, scope: str) -> Floats | None:
        """Return the (I,) capacity of each item of `scope`: the capacity given for the scope, or else the sum over the
        item's containers. Return None if the case gives no capacity.
        """
        if dimension == "count":
            return None
        words = self.case.dimensions[dimension]
        given = dict(words.capacities)
        if scope in given:
            return np.array(given[scope], dtype=np.float64)
        each = words.containers if words.containers is not None else given.get("container")
        if each is None:
            return None
        total = np.zeros(self.items(scope))
        for container, item in enumerate(self.item(scope)):
            if item >= 0:
                total[item] += each[container]
        return total

    def util(
        self, scope: str, dimension: str, partition: str | None = None, flavour: Flavour = Flavour.AFTER
    ) -> Floats:
        """Return the utilisation, (A, I, G): the sum over a group's objects that count towards an item."""
        key = (scope, dimension, partition, flavour)
        if key not in self._known:
            self._known[key] = self._util(self.item(scope), self.items(scope), dimension, partition, flavour)
        return self._known[key]

    def outside_new(self, scope: str, dimension: str) -> Floats:
        """Return the (A,) amount in `dimension` that moved from items of `scope` into containers outside all items."""
        outside = np.where(self.item(scope) < 0, 0, -1)
        return self._util(outside, 1, dimension, None, Flavour.NEW)[:, 0, 0]

    def _util(self, item: Ints, items: int, dimension: str, partition: str | None, flavour: Flavour) -> Floats:
        """Return the (A, I, G) utilisation. AFTER, STAYED and NEW count an object in its assigned container, OLD and
        INITIAL in its initial container, and ANY in both.
        """
        groups = [list(range(self.case.objects))] if partition is None else self.members(partition)
        total = np.zeros((len(self), items, len(groups)))
        began = np.broadcast_to(self.initial, self.assignments.shape)
        before, after = item[began], item[self.assignments]
        moved = before != after
        ends = {
            Flavour.AFTER: ((self.assignments, np.ones_like(moved)),),
            Flavour.INITIAL: ((began, np.ones_like(moved)),),
            Flavour.STAYED: ((self.assignments, ~moved),),
            Flavour.NEW: ((self.assignments, moved),),
            Flavour.OLD: ((began, moved),),
            Flavour.ANY: ((self.assignments, np.ones_like(moved)), (began, moved)),
        }[flavour]
        rows = np.arange(len(self))
        for where, counts in ends:
            value, at = self.value(dimension, where), item[where]
            for g, members in enumerate(groups):
                for o in members:
                    some = counts[:, o] & (at[:, o] >= 0)
                    np.add.at(total[:, :, g], (rows[some], at[some, o]), value[some, o])
        return total
