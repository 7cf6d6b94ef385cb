"""Two objects change places, the second drawn from those most like the first: where room is short, little else fits."""

from __future__ import annotations

from libs.assignment.search.delta import ask
from libs.assignment.search.draw import random_below
from libs.assignment.search.jit import part
from libs.assignment.search.tables import ALIKE, ALIKE_WIDTH, OBJECTS, State, Tables


@part
def ask_swap_alike(g: Tables, s: State) -> int:
    """Ask about it. 0: they are in one container."""
    o = random_below(g, s, g.node[0, OBJECTS])
    other = g.lookup[g.node[0, ALIKE] + o * g.node[0, ALIKE_WIDTH] + random_below(g, s, g.node[0, ALIKE_WIDTH])]
    here, there = s.whole[o], s.whole[other]
    if here == there:
        return 0
    ask(g, s, 0, o, there)
    ask(g, s, 1, other, here)
    return 2
