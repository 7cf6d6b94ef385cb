"""Count each group in each scope item, in a hash table of flat arrays with constant-time lookups."""

from __future__ import annotations

from typing import NamedTuple

from libs.assignment.kernels.jit import compiled, part
from libs.assignment.language.arrays import Floats, Ints

SLACK = 1e-9
"""Tolerance for rounding in sums of floats."""
MIX = 0x1E3779B97F4A7C15
"""Spreads keys over the table; odd, and below 2 ** 63."""


RANDOM = 1
"""Offset in `counter` of the state of the random numbers."""


class Held(NamedTuple):
    """The groups of objects, their limits, and the amount of each group in each scope item.

    start    (N + 1,) int  where an object's entries begin
    entry    (M, 2) int    group and rule of an entry
    number   (M, 2)        the object's amount there, and the group's limit
    item     (R, C) int    the scope item of each container by rule; -1: no limit there
    keys     (H,) int      group * C + item, -1 if free; H is a power of two
    amount   (H,)          amount of the group in the item
    counter  (2,) int      used keys; state of the random numbers

    Kernels write the last three.
    """

    start: Ints
    entry: Ints
    number: Floats
    item: Ints
    keys: Ints
    amount: Floats
    counter: Ints


@part
def slot(keys: Ints, key: int) -> int:
    """Return the slot of a key, or the free slot for it."""
    mask = len(keys) - 1
    mixed = key * MIX
    k = (mixed ^ (mixed >> 29)) & mask
    while keys[k] >= 0 and keys[k] != key:
        k = (k + 1) & mask
    return k


@part
def allowed(o: int, c: int, held: Held) -> bool:
    """Return whether all groups of object o stay within their limits if it is in container c."""
    for e in range(held.start[o], held.start[o + 1]):
        i = held.item[held.entry[e, 1], c]
        if i >= 0:
            k = slot(held.keys, held.entry[e, 0] * held.item.shape[1] + i)
            now = held.amount[k] if held.keys[k] >= 0 else 0.0
            if now + held.number[e, 0] > held.number[e, 1] + SLACK:
                return False
    return True


@part
def add(o: int, c: int, sign: float, held: Held) -> None:
    """Add object o to the counts of its groups in container c (sign 1), or remove it (sign -1)."""
    for e in range(held.start[o], held.start[o + 1]):
        i = held.item[held.entry[e, 1], c]
        if i >= 0:
            key = held.entry[e, 0] * held.item.shape[1] + i
            k = slot(held.keys, key)
            if held.keys[k] < 0:
                held.keys[k] = key
                held.amount[k] = 0.0
                held.counter[0] += 1
            held.amount[k] += sign * held.number[e, 0]


@compiled
def add_all(at: Ints, held: Held) -> None:
    """Add all placed objects."""
    for o in range(len(at)):
        if at[o] >= 0:
            add(o, at[o], 1.0, held)
