"""Move one object back to its initial container.

Among many containers this move would rarely be drawn. But if moving objects occupy both ends, little can move until
some have gone back.
"""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import INITIAL_AT, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object


@part
def ask_home(g: Tables, s: State) -> int:
    """Put a random return. Return 0 if the object is at home."""
    o = draw_object(g, s)
    home = g.lookup[g.node[0, INITIAL_AT] + o]
    if home == s.whole[o]:
        return 0
    ask(g, s, 0, o, home)
    return 1
