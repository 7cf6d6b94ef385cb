"""Add columns for the number of objects of each subclass that leave their home."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.assembly import Assembly
from libs.assignment.model.movement import Movement


@dataclass(slots=True, kw_only=True, eq=False)
class Leaving:
    """Columns for leaving objects. A group is a pair of class and home in which any counted object began.

    column    (J,) the column of the number of a subclass that leaves
    group     (J,) of each subclass
    counts    (Q',) count columns at homes of groups; at: their groups
    held      (G,) objects that count
    size      (J,)
    order     (J,) subclasses group by group, the cheapest to move first
    """

    column: Ints
    group: Ints
    counts: Ints
    at: Ints
    held: Ints
    size: Ints
    order: Ints

    def fill(self, point: Floats) -> None:
        """Set the columns so that as few objects leave as possible, the cheapest first."""
        there = np.bincount(self.at, point[self.counts], len(self.held))
        gone = np.maximum(self.held - there, 0.0)
        group, size = self.group[self.order], self.size[self.order].astype(np.float64)
        before = np.cumsum(size) - size
        first = np.append(True, group[1:] != group[:-1])[: len(group)]
        before -= np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), len(group))))
        point[self.column[self.order]] = np.clip(gone[group] - before, 0.0, size)

    def sort(self, *prices: Floats) -> None:
        """Order the subclasses of each group by the cost of leaving at the first priority, then the next, then by
        number.
        """
        self.order = np.lexsort((*reversed(prices), self.group))


def add_leaving(a: Assembly, moved: Movement, *, linear: bool) -> Leaving:
    """Add columns and rows: as many objects leave as do not stay. Class k, home h, subclass j of (k, h).

        sum_{c in h} n[k,c]  +  sum_{j in (k,h)} leave[j]  >=  held[k,h]           for all (k, h) with any j

    leave  (J,)  at most the subclass's size; integer, or continuous if all terms that count it are linear

    Rows: one per (k, h).
    """
    containers = len(moved.home)
    pair = moved.kind * containers + moved.home[moved.container]
    pairs, group = np.unique(pair, return_inverse=True)
    group = group.ravel()
    counts = a.counts
    home = moved.home[counts.container]
    asked = np.flatnonzero(home >= 0)
    key = counts.kind[asked] * containers + home[asked]
    place = np.minimum(np.searchsorted(pairs, key), max(len(pairs) - 1, 0))
    known: Bools = pairs[place] == key if len(pairs) else np.zeros(len(asked), np.bool_)
    asked, at = asked[known], place[known]
    held = np.bincount(group, moved.size, len(pairs)).astype(np.int64)
    alone = np.bincount(group, minlength=len(pairs)).max(initial=0) <= 1
    column = a.add_columns(len(group), least=0.0, most=moved.size, integer=not (alone or linear))
    stays, leaves = (at, asked, 1.0), (group, column, 1.0)
    rows = np.arange(len(pairs))
    a.add_rows("objects", "those who do not stay leave", rows, 1, stays, leaves, lower=held)
    return Leaving(
        column=column,
        group=group,
        counts=asked,
        at=at,
        held=held,
        size=moved.size,
        order=np.argsort(group, kind="stable"),
    )
