"""Move one object to any container."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import CONTAINERS, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below


@part
def ask_single(g: Tables, s: State) -> int:
    """Put a random move. Return 0 if the object is there already."""
    o, container = draw_object(g, s), random_below(g, s, g.node[0, CONTAINERS])
    if container == s.whole[o]:
        return 0
    ask(g, s, 0, o, container)
    return 1
