"""Who is placed where, what room is left, and how much of each group is in each scope item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.arrays import Bools, Floats, Ints
from libs.assignment.prices.held import add_all
from libs.assignment.prices.market import Groups, Market

ROOM_FOR = 4
"""Slots of the table for each entry that can be in it at once: lookups stay short, and keys that fell out may stay."""


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """What placing changes; kernels write into it.

    at       (N,) int    the container of each object; -1: not placed
    left     (C, D)      room
    entry    (M, 2) int  group and rule of an object's entries, as Groups.start says
    number   (M, 2)      what it counts for there, and the group's limit
    keys     (H,) int    a hash table of (group, scope item), -1 where free; H is a power of two
    held     (H,)        how much of the group is in the item
    counter  (2,) int    used keys; state of the random numbers
    """

    at: Ints
    left: Floats
    entry: Ints
    number: Floats
    keys: Ints
    held: Floats
    counter: Ints

    def take(self, other: State) -> None:
        """What was tried counts."""
        self.at, self.left = other.at, other.left
        self.keys, self.held, self.counter = other.keys, other.held, other.counter

    def copy(self) -> State:
        """To try something on."""
        return State(
            at=self.at.copy(),
            left=self.left.copy(),
            entry=self.entry,
            number=self.number,
            keys=self.keys.copy(),
            held=self.held.copy(),
            counter=self.counter.copy(),
        )


def start(market: Market, seed: int) -> State:
    """Fixed objects alone are placed."""
    groups = market.groups
    state = State(
        at=np.where(market.fixed, market.initial, -1),
        left=market.capacity.copy(),
        entry=np.stack([groups.group, groups.rule[groups.group]], axis=1),
        number=np.stack([groups.amount, groups.limit[groups.group]], axis=1),
        keys=np.zeros(0, np.int64),
        held=np.zeros(0),
        counter=np.array([0, (seed * 2 + 1) * 0x9E3779B97F4A7C % 2**62 + 1], dtype=np.int64),
    )
    _count_room(market, state)
    rehash(groups, state)
    return state


def rehash(groups: Groups, state: State) -> None:
    """The table anew, from where everything is: without the keys of what has left."""
    entries = len(groups.group)
    size = 1 << max(ROOM_FOR * entries, 8).bit_length() if entries else 1
    state.keys = np.full(size, -1, dtype=np.int64)
    state.held = np.zeros(size)
    state.counter[0] = 0
    add_all(state.at, groups.start, state.entry, state.number, groups.item, state.keys, state.held, state.counter)


def release(market: Market, state: State, objects: Ints) -> None:
    """Take placed objects out."""
    state.at[objects] = -1
    _count_room(market, state)
    rehash(market.groups, state)


def _count_room(market: Market, state: State) -> None:
    """Anew, so that no error adds up."""
    on = np.flatnonzero(state.at >= 0)
    for d in range(market.need.shape[1]):
        taken = np.bincount(state.at[on], weights=market.need[on, d], minlength=len(state.left))
        state.left[:, d] = market.capacity[:, d] - taken


def unplaced(market: Market, state: State) -> Bools:
    """(N,) who could be placed and is not."""
    return np.asarray((state.at < 0) & ~market.fixed)
