"""Move one object to the container of a second. The second goes to its initial container, or anywhere from there."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import CONTAINERS, INITIAL_AT, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below


@part
def ask_chain(g: Tables, s: State) -> int:
    """Put a random chain of two. Return 0 if one object would stay."""
    o, other = draw_object(g, s), draw_object(g, s)
    there, container = s.whole[other], g.lookup[g.node[0, INITIAL_AT] + other]
    if container == there:
        container = random_below(g, s, g.node[0, CONTAINERS])
    if s.whole[o] == there or container == there:
        return 0
    ask(g, s, 0, o, there)
    ask(g, s, 1, other, container)
    return 2
