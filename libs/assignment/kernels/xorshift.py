"""Random numbers for all kernels, the same on every machine: xorshift64*, whose state is one number of an array, so
that draws cost little and depend on the seed alone. Source: S. Vigna, An experimental exploration of Marsaglia's
xorshift generators, scrambled (2016).
"""

from __future__ import annotations

import numpy as np

from libs.assignment.kernels.jit import part
from libs.assignment.language.arrays import Ints


@part
def seed_at(state: Ints, at: int, seed: int) -> None:
    """Start over. Seeds that lie close together give numbers that have nothing to do with each other (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    state[at] = np.int64(z)


@part
def bits_at(state: Ints, at: int) -> np.uint64:
    """64 of them."""
    x = np.uint64(state[at])
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[at] = np.int64(x)
    return x * np.uint64(0x2545F4914F6CDD1D)


@part
def below_at(state: Ints, at: int, n: int) -> int:
    """One of 0 to n - 1, n less than 2**32."""
    return int(np.int64(((bits_at(state, at) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))


@part
def share_at(state: Ints, at: int) -> float:
    """At least 0, less than 1."""
    return float(bits_at(state, at) >> np.uint64(11)) * 2.0**-53
