"""One object to where a second is, that one to where a third is, and the third to where the first was (a ring) or
anywhere.
"""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import CONTAINERS, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below, random_share

RINGS = 0.5
"""Of them."""


@part
def ask_chain_of_three(g: Tables, s: State) -> int:
    """Ask about it. 0: one of them would stay."""
    one, two, three = draw_object(g, s), draw_object(g, s), draw_object(g, s)
    a, b, c = s.whole[one], s.whole[two], s.whole[three]
    last = a if random_share(g, s) < RINGS else random_below(g, s, g.node[0, CONTAINERS])
    if a == b or b == c or c == last or one == three:
        return 0
    ask(g, s, 0, one, b)
    ask(g, s, 1, two, c)
    ask(g, s, 2, three, last)
    return 3
