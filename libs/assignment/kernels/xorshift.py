"""Draw random numbers for all kernels, the same on every machine.

The generator is xorshift64*. Its state is one number of an array, so draws are cheap and depend on the seed alone.
Source: S. Vigna, An experimental exploration of Marsaglia's xorshift generators, scrambled (2016).
"""

from __future__ import annotations

import numpy as np

from libs.assignment.kernels.jit import part
from libs.assignment.language.arrays import Ints


@part
def seed_at(state: Ints, at: int, seed: int) -> None:
    """Start a sequence. Neighbouring seeds give independent sequences (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    state[at] = np.int64(z)


@part
def bits_at(state: Ints, at: int) -> np.uint64:
    """Return 64 random bits."""
    x = np.uint64(state[at])
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[at] = np.int64(x)
    return x * np.uint64(0x2545F4914F6CDD1D)


@part
def below_at(state: Ints, at: int, n: int) -> int:
    """Return a random number from 0 to n - 1, for n less than 2**32."""
    return int(np.int64(((bits_at(state, at) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))


@part
def share_at(state: Ints, at: int) -> float:
    """Return a random number of at least 0 and less than 1."""
    return float(bits_at(state, at) >> np.uint64(11)) * 2.0**-53
