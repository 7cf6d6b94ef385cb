"""Draw the random numbers of a walk. Their state is in State.whole, so a walk depends only on its seed."""

from __future__ import annotations

from libs.assignment.incremental.tables import MOVABLE, MOVABLES, MOVES_AT, RANDOM, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.kernels.xorshift import below_at, seed_at, share_at


@part
def seed_random(g: Tables, s: State, seed: int) -> None:
    """Start a sequence of random numbers."""
    seed_at(s.whole, g.node[0, MOVES_AT] + RANDOM, seed)


@part
def random_below(g: Tables, s: State, n: int) -> int:
    """Return a random number from 0 to n - 1, for n less than 2**32."""
    return int(below_at(s.whole, g.node[0, MOVES_AT] + RANDOM, n))


@part
def random_share(g: Tables, s: State) -> float:
    """Return a random number of at least 0 and less than 1."""
    return float(share_at(s.whole, g.node[0, MOVES_AT] + RANDOM))


@part
def draw_object(g: Tables, s: State) -> int:
    """Return a random movable object."""
    return int(g.lookup[g.node[0, MOVABLE] + random_below(g, s, g.node[0, MOVABLES])])
