"""Random numbers for the kernels: xorshift64*, whose state lies in State.whole, so that a walk depends on its seed
alone and draws cost little beside evaluations. Source: S. Vigna, An experimental exploration of Marsaglia's xorshift
generators, scrambled (2016).
"""

from __future__ import annotations

import numpy as np

from libs.assignment.search.jit import part
from libs.assignment.search.tables import MOVES_AT, RANDOM, State, Tables


@part
def seed_random(g: Tables, s: State, seed: int) -> None:
    """Start over. Seeds that lie close together give numbers that have nothing to do with each other (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    s.whole[g.node[0, MOVES_AT] + RANDOM] = np.int64(z)


@part
def random_bits(g: Tables, s: State) -> np.uint64:
    """64 of them."""
    at = g.node[0, MOVES_AT] + RANDOM
    x = np.uint64(s.whole[at])
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    s.whole[at] = np.int64(x)
    return x * np.uint64(0x2545F4914F6CDD1D)


@part
def random_below(g: Tables, s: State, n: int) -> int:
    """One of 0 to n - 1, n less than 2**32."""
    return int(np.int64(((random_bits(g, s) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))


@part
def random_share(g: Tables, s: State) -> float:
    """At least 0, less than 1."""
    return float(random_bits(g, s) >> np.uint64(11)) * 2.0**-53
