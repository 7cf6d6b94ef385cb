"""Hold the placement, the remaining room, and the amount of each group in each scope item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.group_counts import Held, add_all
from libs.assignment.solvers.price.market import Market

ROOM_FOR = 4
"""Slots of the hash table per entry. Free slots keep lookups short, and leave room for keys of amounts that are 0."""


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """The state of a placement. Compiled functions write into its arrays.

    at    (N,) int  the container of each object; -1: not placed
    left  (C, D)    the remaining room of each container in each dimension
    held  Held      a hash table of the amount of each group in each scope item
    """

    at: Ints
    left: Floats
    held: Held

    def take(self, other: State) -> None:
        """Replace the contents of this state by those of `other`."""
        self.at, self.left, self.held = other.at, other.left, other.held

    def copy(self) -> State:
        """Return a copy whose arrays may be changed without a change of this state."""
        held = self.held
        held = held._replace(keys=held.keys.copy(), amount=held.amount.copy(), counter=held.counter.copy())
        return State(at=self.at.copy(), left=self.left.copy(), held=held)


def start(market: Market, seed: int) -> State:
    """Return a state in which only fixed objects are placed."""
    groups = market.groups
    state = State(
        at=np.where(market.fixed, market.initial, -1),
        left=market.capacity.copy(),
        held=Held(
            start=groups.start,
            entry=np.stack([groups.group, groups.rule[groups.group]], axis=1),
            number=np.stack([groups.amount, groups.limit[groups.group]], axis=1),
            item=groups.item,
            keys=np.zeros(0, np.int64),
            amount=np.zeros(0),
            counter=np.array([0, (seed * 2 + 1) * 0x9E3779B97F4A7C % 2**62 + 1], dtype=np.int64),
        ),
    )
    _count_room(market, state)
    rehash(state)
    return state


def rehash(state: State) -> None:
    """Rebuild the hash table of group amounts from the placed objects. Drop the keys of amounts that are 0."""
    entries = len(state.held.entry)
    size = 1 << max(ROOM_FOR * entries, 8).bit_length() if entries else 1
    state.held = state.held._replace(keys=np.full(size, -1, dtype=np.int64), amount=np.zeros(size))
    state.held.counter[0] = 0
    add_all(state.at, state.held)


def release(market: Market, state: State, objects: Ints) -> None:
    """Take the placed objects `objects` out of their containers, and free their room."""
    state.at[objects] = -1
    _count_room(market, state)
    rehash(state)


def _count_room(market: Market, state: State) -> None:
    """Compute the remaining room again from all placed objects, so that rounding errors do not add up."""
    on = np.flatnonzero(state.at >= 0)
    for d in range(market.need.shape[1]):
        taken = np.bincount(state.at[on], weights=market.need[on, d], minlength=len(state.left))
        state.left[:, d] = market.capacity[:, d] - taken


def unplaced(market: Market, state: State) -> Bools:
    """Return the objects that are not placed and not fixed, (N,)."""
    return np.asarray((state.at < 0) & ~market.fixed)
