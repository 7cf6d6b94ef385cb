"""Count moved objects without a column for each pair of origin and destination.

The number of movers follows from the number that stays. Objects of a class that began in one set of containers (a
*home*: one container, or a scope item) are interchangeable. With `n` of the class there afterwards, those that left are

    sum_j leave[j]  >=  held  -  n          for each class and home, over its subclasses j

A subclass is the objects of a class that began in one container and have the same cost of leaving. NEW in a home is n -
held + sum leave. Source: Rebalancer, A.1.2 (classes); docs/adr/0003 (leaving).

In three cases classes are split by their initial containers instead. First, a term may gain by leaving: two equal
objects could exchange places, and counts do not show that. Second, homes of different terms may overlap without being
equal. Third, a factor may differ within a home.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.graph.cell import Leaf
from libs.assignment.graph.classes import Classes, equivalent, takes_part
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Ints
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csc
from libs.assignment.model.directions import Want, leaf_signs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Movement:
    """Classes, homes and subclasses.

    leaves     per cell; NEW leaves that treat all containers alike become OLD, because as many arrive as leave
    classes    of objects
    split      each class began in one container, so there are no homes and subclasses
    home       (C,) the home of each container; -1: no term needs it
    subclass   (N,) of each object; -1: no term counts its leaving
    kind, container, size, representative  (J,) of each subclass
    """

    leaves: tuple[tuple[Leaf, ...], ...]
    classes: Classes
    split: bool
    home: Ints
    subclass: Ints
    kind: Ints
    container: Ints
    size: Ints
    representative: Ints


def movement(compiled: Compiled, wanted: tuple[Want, ...]) -> Movement:
    """Find classes that movement does not split, if possible."""
    problem, cells = compiled.problem, compiled.graph.cells
    objects = len(problem.objects)
    leaves = tuple(tuple(_where_anybody_left(leaf) for leaf in cell.leaves) for cell in cells)
    listed = [leaf for each in leaves for leaf in each]
    moving = [leaf for leaf in listed if leaf.flavour is not Flavour.AFTER]
    press = Want()
    for want, each in zip(wanted, leaves, strict=True):
        for leaf in each:
            if leaf.flavour is not Flavour.AFTER:
                press.add(want, leaf_signs(leaf))
    home = _homes(moving, len(problem.containers))
    if home is None or press.large:
        classes = equivalent(listed, objects, problem.initial)
        return _without_subclasses(leaves, classes, np.full(len(problem.containers), -1), split=True)
    classes = equivalent([leaf for leaf in listed if leaf.flavour is not Flavour.OLD], objects)
    if not moving:
        return _without_subclasses(leaves, classes, home, split=False)
    asked = home[problem.initial] >= 0
    asked &= np.any([takes_part(leaf) for leaf in moving], axis=0)
    found = equivalent(moving, objects, classes.of, problem.initial, asked.astype(np.int64))
    kept = asked[found.representative]
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    representative = found.representative[kept]
    return Movement(
        leaves=leaves,
        classes=classes,
        split=False,
        home=home,
        subclass=number[found.of],
        kind=classes.of[representative],
        container=problem.initial[representative],
        size=found.size[kept],
        representative=representative,
    )


def _without_subclasses(leaves: tuple[tuple[Leaf, ...], ...], classes: Classes, home: Ints, *, split: bool) -> Movement:
    none = np.zeros(0, dtype=np.int64)
    return Movement(
        leaves=leaves,
        classes=classes,
        split=split,
        home=home,
        subclass=np.full(len(classes.of), -1),
        kind=none,
        container=none,
        size=none,
        representative=none,
    )


def _where_anybody_left(leaf: Leaf) -> Leaf:
    """Turn arrivals that count the same in all containers into departures, because departures carry more data of an
    object.
    """
    if leaf.flavour is not Flavour.NEW or leaf.factor is not None or (leaf.scope.item < 0).any():
        return leaf
    entries = np.diff(leaf.rows.indptr)
    full = (entries == leaf.rows.shape[1]) | (entries == 0)
    first = leaf.rows.indptr[:-1][entries > 0]
    alike = full.all() and bool((leaf.rows.data == np.repeat(leaf.rows.data[first], entries[entries > 0])).all())
    return replace(leaf, flavour=Flavour.OLD) if alike else leaf


def _homes(moving: list[Leaf], containers: int) -> Ints | None:
    """Return homes that fit every leaf, (C,); None if there are none."""
    home = np.full(containers, -1, dtype=np.int64)
    for leaf in moving:
        item = leaf.scope.item
        touched = np.diff(csc(leaf.rows).indptr) > 0
        told = np.zeros(len(leaf.scope), dtype=np.bool_)
        told[item[touched]] = True
        inside = np.flatnonzero(item >= 0)
        inside = inside[told[item[inside]]]
        first = np.full(len(leaf.scope), containers)
        np.minimum.at(first, item[inside], inside)
        home_here = np.full(containers, -1, dtype=np.int64)
        home_here[inside] = first[item[inside]]
        if leaf.flavour is Flavour.NEW and not _alike_within(leaf, home_here):
            return None
        both = (home >= 0) & (home_here >= 0)
        for here in (home, home_here):
            members = np.bincount(here[here >= 0], minlength=containers)
            shared = np.bincount(here[both], minlength=containers)
            same = np.bincount(here[both & (home == home_here)], minlength=containers)
            if ((shared > 0) & (same < members)).any():
                return None
        home = np.where(home >= 0, home, home_here)
    return home


def _alike_within(leaf: Leaf, home: Ints) -> bool:
    """Return whether an object's value is the same in all containers of a home."""
    inside = np.flatnonzero(home >= 0)
    if leaf.factor is not None and (leaf.factor.scope.item[inside] != leaf.factor.scope.item[home[inside]]).any():
        return False
    rows: Matrix = csc(leaf.rows)
    return bool(abs(rows[:, inside] - rows[:, home[inside]]).sum() == 0)
