"""Swap two similar objects."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import (
    ALIKE_FIRST,
    ALIKE_MEMBERS,
    ALIKE_NEAR,
    ALIKE_OF,
    ALIKE_WIDTH,
    State,
    Tables,
)
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below


@part
def ask_swap_alike(g: Tables, s: State) -> int:
    """Put a swap of an object with a similar one: its kind is near the kind of the first. Return 0 if both are in one
    container.
    """
    o, width = draw_object(g, s), g.node[0, ALIKE_WIDTH]
    near = g.node[0, ALIKE_NEAR] + g.lookup[g.node[0, ALIKE_OF] + o] * width
    first = g.node[0, ALIKE_FIRST] + g.lookup[near + random_below(g, s, width)]
    begin, end = g.lookup[first], g.lookup[first + 1]
    other = g.lookup[g.node[0, ALIKE_MEMBERS] + begin + random_below(g, s, end - begin)]
    here, there = s.whole[o], s.whole[other]
    if here == there:
        return 0
    ask(g, s, 0, o, there)
    ask(g, s, 1, other, here)
    return 2
