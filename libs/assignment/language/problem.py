"""State a problem: objects, containers, goals and constraints. Names become indices of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.language.arrays import Floats, Ints, checked_indices, checked_table
from libs.assignment.language.columns import dense
from libs.assignment.language.dimension import ByItem, Dimension
from libs.assignment.language.errors import BadValues, ModelError, UnknownName
from libs.assignment.language.expressions.expression import Expression, expression_of
from libs.assignment.language.given import aligned, indices_of, one_by_one, values_of
from libs.assignment.language.labels import Labels, Names
from libs.assignment.language.matrices import csr
from libs.assignment.language.partition import Partition
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.scope import Scope
from libs.assignment.language.specs.fields import is_finite
from libs.assignment.language.specs.spec import Spec

T = TypeVar("T")
Column = ArrayLike | Any
"""One value per item: a list, NumPy, Arrow, pandas, polars or a mapping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A value to minimise. Goals of one priority are added up; a lower number outranks all higher ones.

    cost   (1, 1)  the value, divided by `scale` and multiplied by `weight`. The scale is that of the spec, so that
           weights of
                   different goals compare, or 1 if the caller wants the value itself.
    """

    spec: Spec
    cost: Expression
    scale: float
    weight: float
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A condition that must hold. If the start breaks it, a solver repairs it before any goal, and never makes it
    worse.

    A solver may break a soft constraint if keeping it would break other soft or broken constraints more.

    excess  array expressions; an element is 0 if the constraint holds there, and positive if it is broken
    """

    spec: Spec
    excess: tuple[Expression, ...]
    hard: bool
    weight: float


class Problem:
    """Objects, containers and the initial container of each object.

    objects, containers  numbers of them, or their names
    initial              (N,) the container of each object, by name or index

    Every method takes columns as lists, NumPy, Arrow, pandas or polars. A pandas Series and a mapping are aligned by
    label: each name or index must occur once. Other columns are read by position. Raises: UnknownName with the nearest
    name; BadValues for values of the wrong shape or range.
    """

    def __init__(self, *, objects: Names, containers: Names, initial: Column) -> None:
        self.objects = Labels("object", objects)
        self.outside = Labels("outside", 1)
        self.containers = Labels("container", containers)
        self.initial: Ints = indices_of("initial", initial, self.objects, self.containers, none=True)
        if (self.initial == -1).any():
            raise BadValues(
                "initial: -1 is no container; add a container for objects without a place, and leave it out of limits"
            )
        everywhere = Scope(name=CONTAINER, item=np.arange(len(self.containers)), items=self.containers)
        self.scopes: dict[str, Scope] = {CONTAINER: everywhere}
        self.partitions: dict[str, Partition] = {}
        self.dimensions: dict[str, Dimension] = {}
        self.goals: list[Goal] = []
        self.constraints: list[Constraint] = []
        self.add_dimension(COUNT, 1.0)

    def add_scope(self, name: str, item: Column, items: Names | None = None) -> Scope:
        """Add sets of containers. `item` (C,) is the scope item of each container by name or index; -1 or None: no
        item.

        items  the names of the scope items, or their number; None: the names that occur, in order of occurrence
        """
        self._new("scope", name, self.scopes)
        labels = Labels(name, _found(item) if items is None else items)
        index = indices_of(f"scope {name!r}", item, self.containers, labels, none=True)
        self.scopes[name] = Scope(name=name, item=index, items=labels)
        return self.scopes[name]

    def add_partition(self, name: str, group: Column, groups: Names | None = None) -> Partition:
        """Add sets of objects. `group` (N,) is the group of each object by name or index; -1 or None: no group.

        groups  the names of the groups, or their number; None: the names that occur, in order of occurrence
        """
        labels = Labels(name, _found(group) if groups is None else groups)
        index = indices_of(f"partition {name!r}", group, self.objects, labels, none=True)
        member = np.flatnonzero(index >= 0)
        return self.add_overlapping_partition(name, member, index[member], labels)

    def add_overlapping_partition(
        self, name: str, member: Column, group: Column, groups: Names | Labels | None = None
    ) -> Partition:
        """Add sets of objects that may overlap: object `member[k]` is in group `group[k]`, by name or index."""
        self._new("partition", name, self.partitions)
        if not isinstance(groups, Labels):
            groups = Labels(name, _found(group) if groups is None else groups)
        where, pairs = f"partition {name!r}", len(dense(member))
        of = one_by_one(f"{where}, group", group, pairs, groups)
        who = one_by_one(f"{where}, member", member, pairs, self.objects)
        matrix = csr((np.ones(pairs), (of, who)), shape=(len(groups), len(self.objects)))
        if matrix.nnz and matrix.data.max() > 1:
            raise BadValues(f"{where}: an object is in one group twice; give each pair once")
        self.partitions[name] = Partition(name=name, matrix=matrix, groups=groups)
        return self.partitions[name]

    def add_dimension(
        self,
        name: str,
        objects: Column,
        *,
        containers: Column | None = None,
        signed: bool = False,
        by_item: tuple[str, Column, ArrayLike] | None = None,
    ) -> Dimension:
        """Add the demand of each object, (N,) or one number for all, and the capacity of each container, (C,).

        With `by_item` = (scope, classes (N,), table (K, I)) an object's value in a scope item is multiplied by
        table[classes[object], item]. Outside the scope's items it is 0.
        """
        self._new("dimension", name, self.dimensions)
        where = f"dimension {name!r}"
        factor = None
        if by_item is not None:
            if not isinstance(by_item, tuple | list) or len(by_item) != 3:
                raise BadValues(f"{where}: by_item = {by_item!r}; expected (scope, classes, table)")
            scope = self.scope(where, by_item[0])
            table = checked_table(where, by_item[2], len(scope), f"item of {scope.name!r}", signed=signed)
            given = aligned(f"{where}, classes", by_item[1], self.objects)
            classes = checked_indices(f"{where}, classes", given, len(self.objects), len(table))
            factor = ByItem(scope=scope, classes=classes, table=table)
        values = values_of(f"{where}, objects", objects, self.objects, signed=signed)
        self.dimensions[name] = Dimension(name=name, objects=values, by_item=factor, capacities={})
        if containers is not None:
            self.add_capacity(name, CONTAINER, containers, signed=signed)
        return self.dimensions[name]

    def add_capacity(self, dimension: str, scope: str, values: Column, *, signed: bool = False) -> None:
        """Set the capacity of each item of a scope. Items of other scopes have the sum over their containers."""
        where = f"capacity of {dimension!r} by {scope!r}"
        items = self.scope(where, scope).items
        self.dimension(where, dimension).capacities[scope] = values_of(where, values, items, signed=signed)

    def capacity(self, where: str, dimension: str, scope: str) -> Floats:
        """Return the capacity of each scope item, (I,). It is set for the scope, or else the sum over the item's
        containers.
        """
        known = self.dimension(where, dimension).capacities
        if scope in known:
            return known[scope]
        if CONTAINER not in known:
            raise ModelError(f"{where}: dimension {dimension!r} has no capacity for scope {scope!r}; use add_capacity")
        return np.asarray(self.scope(where, scope).matrix() @ known[CONTAINER])

    def scope(self, where: str, name: str) -> Scope:
        """Return a scope by name. Raises UnknownName with the nearest name."""
        return _known(where, "scope", name, self.scopes)

    def partition(self, where: str, name: str) -> Partition:
        """Return a partition by name. Raises UnknownName with the nearest name."""
        return _known(where, "partition", name, self.partitions)

    def dimension(self, where: str, name: str) -> Dimension:
        """Return a dimension by name. Raises UnknownName with the nearest name."""
        return _known(where, "dimension", name, self.dimensions)

    def add_goal(self, spec: Spec, *, weight: float = 1.0, priority: int = 0, normalise: bool = True) -> None:
        """Minimise the value of a spec. Priority 0 outranks priority 1. Weights compare goals of one priority.

        With `normalise` the value is divided by the spec's scale. Then 1 is roughly the worst possible value.
        """
        _require_spec(spec)
        if not (is_finite(weight) and weight >= 0):
            raise BadValues(f"{spec.where}: weight = {weight!r}; expected a finite number, 0 or more")
        if not (is_finite(priority) and priority >= 0 and float(priority).is_integer()):
            raise BadValues(f"{spec.where}: priority = {priority!r}; expected a whole number, 0 or more")
        _require_switch(spec, "normalise", normalise)
        with _naming(spec):
            cost = expression_of(spec.cost(self))
            if cost.shape != (1, 1):
                raise BadValues(f"a cost of shape {cost.shape}; expected (1, 1), as total() gives")
        scale = (spec.scale(self) if normalise else 1.0) or 1.0
        if not (math.isfinite(scale) and scale > 0):
            raise BadValues(
                f"{spec.where}: the goal cannot be normalised by {scale:g}; use smaller numbers, or normalise=False"
            )
        if not math.isfinite(weight / scale):
            raise BadValues(
                f"{spec.where}: weight {weight:g} divided by scale {scale:g} is not finite; use larger units"
            )
        self.goals.append(Goal(spec=spec, cost=cost, scale=scale, weight=weight, priority=int(priority)))

    def add_constraint(self, spec: Spec, *, hard: bool = True, weight: float = 1.0) -> None:
        """Require a spec to hold. `weight` compares it with other constraints that are soft or that the start
        breaks.
        """
        _require_spec(spec)
        if not (is_finite(weight) and weight > 0):
            raise BadValues(f"{spec.where}: weight = {weight!r}; expected a finite number above 0")
        _require_switch(spec, "hard", hard)
        with _naming(spec):
            excess = spec.excess(self)
            if not isinstance(excess, list | tuple):
                raise BadValues(f"an excess {excess!r}; expected a tuple of expressions, such as (expression,)")
            excess = tuple(expression_of(part) for part in excess)
        self.constraints.append(Constraint(spec=spec, excess=excess, hard=hard, weight=weight))

    def _new(self, noun: str, name: str, known: Mapping[str, object]) -> None:
        if not isinstance(name, str):
            raise BadValues(f"{noun}: {name!r}; expected a name, which is a string")
        if name in known:
            raise ModelError(f"{noun} {name!r} exists already; use another name")


def _require_switch(spec: Spec, name: str, given: object) -> None:
    if not isinstance(given, bool | np.bool_):
        raise BadValues(f"{spec.where}: {name} = {given!r}; expected True or False")


def _require_spec(given: object) -> None:
    if isinstance(given, type) and issubclass(given, Spec):
        raise ModelError(f"{given.__name__} is a class of specs; give a spec: {given.__name__}(...)")
    if not isinstance(given, Spec):
        raise ModelError(f"{given!r} is not a spec; give one, such as CapacitySpec(...)")


@contextmanager
def _naming(spec: Spec) -> Iterator[None]:
    """Name the spec in errors of its expressions, because expressions do not know their spec."""
    try:
        yield
    except BadValues as error:
        if spec.where in str(error):
            raise
        raise BadValues(f"{spec.where}: {error}") from error


def _known(where: str, noun: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownName(where, noun, str(name), known)
    return known[name]


def _found(given: Column) -> int | list[str]:
    """Return the names that occur, or the number of indices. Return 0 for other values, which are refused later."""
    if not isinstance(given, Iterable):
        return 0
    column = list(given.values()) if isinstance(given, Mapping) else dense(given)
    if not isinstance(column, np.ndarray):
        names = [one for one in column if isinstance(one, str)]
        if names:
            return list(dict.fromkeys(names))
        column = [one for one in column if one is not None]
    indices = np.asarray(column)
    return int(np.max(indices, initial=-1)) + 1 if np.issubdtype(indices.dtype, np.integer) else 0
