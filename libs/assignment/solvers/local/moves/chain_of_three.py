"""Move one object to the container of a second, and the second to that of a third. The third goes to the container of
the first (a ring) or anywhere.
"""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import CONTAINERS, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below, random_share

RINGS = 0.5
"""Share of rings."""


@part
def ask_chain_of_three(g: Tables, s: State) -> int:
    """Put a random chain of three. Return 0 if one object would stay."""
    one, two, three = draw_object(g, s), draw_object(g, s), draw_object(g, s)
    a, b, c = s.whole[one], s.whole[two], s.whole[three]
    last = a if random_share(g, s) < RINGS else random_below(g, s, g.node[0, CONTAINERS])
    if a == b or b == c or c == last or one == three:
        return 0
    ask(g, s, 0, one, b)
    ask(g, s, 1, two, c)
    ask(g, s, 2, three, last)
    return 3
