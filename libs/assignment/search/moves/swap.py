"""Two objects change places."""

from __future__ import annotations

from libs.assignment.search.delta import ask
from libs.assignment.search.draw import random_below
from libs.assignment.search.jit import part
from libs.assignment.search.tables import OBJECTS, State, Tables


@part
def ask_swap(g: Tables, s: State) -> int:
    """Ask about it. 0: they are in one container."""
    o, other = random_below(g, s, g.node[0, OBJECTS]), random_below(g, s, g.node[0, OBJECTS])
    here, there = s.whole[o], s.whole[other]
    if here == there:
        return 0
    ask(g, s, 0, o, there)
    ask(g, s, 1, other, here)
    return 2
