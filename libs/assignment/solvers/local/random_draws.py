"""Random numbers of a walk: their state lies in State.whole, so that a walk depends on its seed alone."""

from __future__ import annotations

from libs.assignment.incremental.tables import MOVABLE, MOVABLES, MOVES_AT, RANDOM, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.kernels.xorshift import below_at, seed_at, share_at


@part
def seed_random(g: Tables, s: State, seed: int) -> None:
    """Start over."""
    seed_at(s.whole, g.node[0, MOVES_AT] + RANDOM, seed)


@part
def random_below(g: Tables, s: State, n: int) -> int:
    """One of 0 to n - 1, n less than 2**32."""
    return int(below_at(s.whole, g.node[0, MOVES_AT] + RANDOM, n))


@part
def random_share(g: Tables, s: State) -> float:
    """At least 0, less than 1."""
    return float(share_at(s.whole, g.node[0, MOVES_AT] + RANDOM))


@part
def draw_object(g: Tables, s: State) -> int:
    """One of the objects that may move."""
    return int(g.lookup[g.node[0, MOVABLE] + random_below(g, s, g.node[0, MOVABLES])])
