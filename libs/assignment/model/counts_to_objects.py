"""Turn counts into an assignment of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Bools, Ints

if TYPE_CHECKING:
    from libs.assignment.model.lowered import Lowered


def place(lowered: Lowered, counts: Ints, leave: Ints | None) -> Ints:
    """Return an assignment (N,) with these counts (Q,).

    In each home, as many objects of a class stay as the counts allow. Objects with the highest cost of leaving stay
    first. Of those that stay in the home, as many as possible keep their container. The others go to containers with
    room, in the order of objects and containers.

    leave  (J,) number of objects of each subclass that leave. If leaving brings no gain, it is an upper bound, and
           decides which objects leave first; else it is exact. None: as few as possible, the cheapest first
    """
    initial, moved = lowered.problem.initial, lowered.movement
    kind, containers = moved.classes.of, len(moved.home)
    homes = np.where(moved.home >= 0, moved.home, np.arange(containers))
    at_home, count_home = homes[initial], homes[lowered.container]
    group, pair = kind * containers + at_home, kind * containers + initial
    slots = len(moved.classes) * containers
    room = np.bincount(lowered.kind * containers + count_home, counts, slots).astype(np.int64)
    order = _who_stays_first(lowered, group, leave)
    stays = _rank(group, order) < room[group]
    here = np.bincount(lowered.kind * containers + lowered.container, counts, slots).astype(np.int64)
    in_place = stays & (_rank(np.where(stays, pair, -1), order) < here[pair])
    assignment = np.full(len(initial), -1)
    assignment[in_place] = initial[in_place]
    left = counts - np.bincount(pair[in_place], minlength=slots)[lowered.kind * containers + lowered.container]
    by_home = np.lexsort((lowered.container, count_home, lowered.kind))
    slot = np.repeat(by_home, np.maximum(left[by_home], 0))
    slot_group = lowered.kind[slot] * containers + count_home[slot]
    near = np.flatnonzero(stays & ~in_place)
    near = near[np.argsort(group[near], kind="stable")]
    wanted = np.bincount(group[near], minlength=slots)
    taken: Bools = _rank(slot_group, np.arange(len(slot))) < wanted[slot_group]
    assignment[near] = lowered.container[slot[taken]]
    far = np.flatnonzero(~stays)
    far = far[np.argsort(kind[far], kind="stable")]
    free = slot[~taken]
    assignment[far] = lowered.container[free]
    return assignment


def _who_stays_first(lowered: Lowered, group: Ints, leave: Ints | None) -> Ints:
    """Return the objects by group, stayers first, (N,): those that `leave` keeps, then the most expensive leavers."""
    leaving, subclass = lowered.leaving, lowered.movement.subclass
    dearness = np.empty(len(leaving.order), dtype=np.int64)
    dearness[leaving.order] = np.arange(len(leaving.order))
    dear = np.where(subclass >= 0, dearness[subclass], -1) if len(dearness) else np.full(len(group), -1)
    may = np.ones(len(group), dtype=np.bool_)
    if leave is not None and len(leave):
        within = _rank(subclass, np.arange(len(group)))
        may = (subclass < 0) | (within < (leaving.size - leave)[subclass])
    return np.lexsort((-dear, ~may, subclass < 0, group))


def _rank(group: Ints, order: Ints) -> Ints:
    """Return the position of each object within its group in an order, (N,)."""
    grouped = order[np.argsort(group[order], kind="stable")]
    new = np.append(True, group[grouped[1:]] != group[grouped[:-1]])[: len(grouped)]
    first = np.flatnonzero(new)
    rank = np.empty(len(group), dtype=np.int64)
    rank[grouped] = np.arange(len(grouped)) - np.repeat(first, np.diff(np.append(first, len(grouped))))
    return rank
