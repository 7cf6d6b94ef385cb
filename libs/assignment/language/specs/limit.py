"""Hold a limit: one number, or one per scope item, per group or per pair of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.language.arrays import Floats, checked_values
from libs.assignment.language.columns import is_column, is_labelled, labelled, listed
from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.expression import Constant
from libs.assignment.language.labels import Labels
from libs.assignment.language.matrices import csr
from libs.assignment.language.specs.fields import NUMBERS, check_fields, is_finite, member_of

Name = str | int


class LimitType(StrEnum):
    """The unit of a limit."""

    ABSOLUTE = "ABSOLUTE"
    """The unit of the dimension."""
    RELATIVE = "RELATIVE"
    """A share: of the scope item's capacity, or of the group's total."""


class Bound(StrEnum):
    """The forbidden side of a limit."""

    MAX = "MAX"
    """Values above the limit are an excess."""
    MIN = "MIN"
    """Values below the limit are an excess."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Limit:
    """`default` unless `items`, `groups` or `pairs` override it (in rising order of precedence).

    type           ABSOLUTE or RELATIVE
    items, groups  a column with a number for each, or a mapping (or pandas Series) from names or indices to numbers
    pairs          a mapping from (scope item, group) to numbers

    A spec takes a plain number as a limit: it is the default. A plain mapping is its `items`.
    """

    type: LimitType = LimitType.ABSOLUTE
    default: float = 1.0
    items: ArrayLike | Mapping[Name, float] | None = None
    groups: ArrayLike | Mapping[Name, float] | None = None
    pairs: Mapping[tuple[Name, Name], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert the word for the type to a member, and columns to mappings or lists. Check the default."""
        object.__setattr__(self, "type", member_of(LimitType, self.type, "Limit: type"))
        for name in ("items", "groups"):
            given = getattr(self, name)
            if is_labelled(given):
                object.__setattr__(self, name, labelled(f"Limit: {name}", given))
            elif is_column(given):
                object.__setattr__(self, name, listed(given))
        check_fields(self, "Limit")

    @classmethod
    def from_plain(cls, where: str, given: Any) -> Limit:
        """Return the limit of a plain number, or of a mapping from scope items to numbers."""
        if is_labelled(given):
            return cls(items=labelled(where, given))
        if isinstance(given, bool) or not isinstance(given, NUMBERS):
            raise BadValues(f"{where} = {given!r}; expected a number, a mapping by scope item, or Limit(...)")
        if not is_finite(given):
            raise BadValues(f"{where} = {given!r}; expected a finite number")
        return cls(default=float(given))

    def by_item(self, where: str, items: Labels) -> Floats:
        """Return the limit of each scope item, (I,), for specs without groups.

        Raises: BadValues if limits were given by group or by pair.
        """
        if self.groups is not None or self.pairs:
            raise BadValues(f"{where}: this spec has no limits per group; use items")
        return _each(f"{where}, limit", self.default, self.items, items)

    def by_group(self, where: str, groups: Labels) -> Floats:
        """Return the limit of each group, (G,), for specs without scope items.

        Raises: BadValues if limits were given by scope item or by pair.
        """
        if self.items is not None or self.pairs:
            raise BadValues(f"{where}: this spec has no limits per scope item; use groups")
        return _each(f"{where}, limit", self.default, self.groups, groups)

    def by_pair(self, where: str, items: Labels, groups: Labels, item_unit: Floats, group_unit: Floats) -> Constant:
        """Return the limit for each pair of a scope item and a group, (I, G).

        item_unit, group_unit   (I,), (G,) factors of a RELATIVE limit: the limit of item i and group g is multiplied by
                                item_unit[i] * group_unit[g]. The factors of items or those of groups must all be 1

        Raises: BadValues if limits were given both by item and by group.
        """
        relative = self.type is LimitType.RELATIVE
        at = f"{where}, limit"
        if self.items is not None and self.groups is not None:
            raise BadValues(f"{at}: give items or groups; if both decide, give pairs")
        if self.items is not None:
            of_item, of_group = _each(at, self.default, self.items, items), np.ones(len(groups))
        else:
            of_item, of_group = np.ones(len(items)), _each(at, self.default, self.groups, groups)
        if relative:
            of_item, of_group = of_item * item_unit, of_group * group_unit
        varies_by_item, varies_by_group = varies(of_item), varies(of_group)
        if varies_by_item and varies_by_group:
            whole = np.outer(of_item, of_group)
            base = Constant(np.zeros(len(items)), np.zeros(len(groups)), csr(whole))
        elif varies_by_item:
            base = Constant(of_item * first(of_group), np.zeros(len(groups)))
        else:
            base = Constant(np.zeros(len(items)), of_group * first(of_item))
        return self._with_pairs(at, base, items, groups, item_unit, group_unit)

    def _with_pairs(
        self, at: str, base: Constant, items: Labels, groups: Labels, item_unit: Floats, group_unit: Floats
    ) -> Constant:
        if not self.pairs:
            return base
        rows = items.indices(at, (item for item, _ in self.pairs))
        columns = groups.indices(at, (group for _, group in self.pairs))
        values = checked_values(f"{at}, pairs", list(self.pairs.values()), len(rows))
        if self.type is LimitType.RELATIVE:
            values = values * item_unit[rows] * group_unit[columns]
        now = base.by_row[rows] + base.by_column[columns]
        if base.pairs is not None:
            now = now + np.asarray(base.pairs[rows, columns]).ravel()
        more = csr((values - now, (rows, columns)), shape=base.shape)
        return Constant(base.by_row, base.by_column, more if base.pairs is None else csr(base.pairs + more))


def varies(values: Floats) -> bool:
    """Return whether two of the values differ."""
    return bool((values != first(values)).any())


def first(values: Floats) -> float:
    """Return the first value; 0 if there is none."""
    return float(values[0]) if len(values) else 0.0


def _each(where: str, default: float, given: ArrayLike | Mapping[Name, float] | None, labels: Labels) -> Floats:
    if isinstance(given, Mapping):
        values = checked_values(where, default, len(labels), signed=True)
        values[labels.keys(where, given)] = checked_values(where, list(given.values()), len(given), signed=True)
        return values
    return checked_values(where, default if given is None else given, len(labels), signed=True)
