"""How much of a group is in a scope item: a hash table in flat arrays, looked up in constant time."""

from __future__ import annotations

from libs.assignment.arrays import Floats, Ints
from libs.assignment.prices.jit import compiled, part

SLACK = 1e-9
"""What sums of floats may be off."""
MIX = 0x1E3779B97F4A7C15
"""Spreads keys over the table; odd, and below 2 ** 63."""


@part
def slot(keys: Ints, key: int) -> int:
    """Where a key is, or would be."""
    mask = len(keys) - 1
    mixed = key * MIX
    k = (mixed ^ (mixed >> 29)) & mask
    while keys[k] >= 0 and keys[k] != key:
        k = (k + 1) & mask
    return k


@part
def allowed(o: int, c: int, start: Ints, entry: Ints, number: Floats, item: Ints, keys: Ints, held: Floats) -> bool:
    """Whether object o in container c keeps all its groups within their limits."""
    for e in range(start[o], start[o + 1]):
        i = item[entry[e, 1], c]
        if i >= 0:
            k = slot(keys, entry[e, 0] * item.shape[1] + i)
            now = held[k] if keys[k] >= 0 else 0.0
            if now + number[e, 0] > number[e, 1] + SLACK:
                return False
    return True


@part
def add(
    o: int,
    c: int,
    sign: float,
    start: Ints,
    entry: Ints,
    number: Floats,
    item: Ints,
    keys: Ints,
    held: Floats,
    counter: Ints,
) -> None:
    """Count an object in (sign 1) or out (-1)."""
    for e in range(start[o], start[o + 1]):
        i = item[entry[e, 1], c]
        if i >= 0:
            key = entry[e, 0] * item.shape[1] + i
            k = slot(keys, key)
            if keys[k] < 0:
                keys[k] = key
                held[k] = 0.0
                counter[0] += 1
            held[k] += sign * number[e, 0]


@compiled
def add_all(
    at: Ints, start: Ints, entry: Ints, number: Floats, item: Ints, keys: Ints, held: Floats, counter: Ints
) -> None:
    """Count in everything that is placed."""
    for o in range(len(at)):
        if at[o] >= 0:
            add(o, at[o], 1.0, start, entry, number, item, keys, held, counter)
