"""Random numbers that are the same on every machine."""

from __future__ import annotations

from libs.assignment.arrays import Ints
from libs.assignment.prices.jit import part

STATE = 1
"""Where a counter keeps them."""


@part
def below(counter: Ints, size: int) -> int:
    """An index below size. Source: Marsaglia, xorshift64, in 63 bits."""
    x = int(counter[STATE])
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    counter[STATE] = x
    index: int = (x >> 8) % size
    return index
