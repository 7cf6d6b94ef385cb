"""Swap two objects."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object


@part
def ask_swap(g: Tables, s: State) -> int:
    """Put a random swap. Return 0 if both are in one container."""
    o, other = draw_object(g, s), draw_object(g, s)
    here, there = s.whole[o], s.whole[other]
    if here == there:
        return 0
    ask(g, s, 0, o, there)
    ask(g, s, 1, other, here)
    return 2
