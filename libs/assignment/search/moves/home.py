"""One object back to where it was at first.

A move like any other, but one container among many: where objects under way occupy both ends, little can move until
some have gone back.
"""

from __future__ import annotations

from libs.assignment.search.delta import ask
from libs.assignment.search.draw import draw_object
from libs.assignment.search.jit import part
from libs.assignment.search.tables import INITIAL_AT, State, Tables


@part
def ask_home(g: Tables, s: State) -> int:
    """Ask about it. 0: it is there."""
    o = draw_object(g, s)
    home = g.lookup[g.node[0, INITIAL_AT] + o]
    if home == s.whole[o]:
        return 0
    ask(g, s, 0, o, home)
    return 1
