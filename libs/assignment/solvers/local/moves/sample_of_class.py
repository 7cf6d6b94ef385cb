"""Move several equivalent objects from one container to another.

If a function has steps, moving several may gain where moving one does not.
"""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import CLASS_FIRST, CLASS_OF, CONTAINERS, MEMBERS, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below

TOGETHER_MAX = 8
"""Most objects that move at once."""
LOOKED_AT_MAX = 64
"""Most members of the class to look at for members in the same container."""


@part
def ask_some_of_class(g: Tables, s: State) -> int:
    """Put a move of two objects or more. Return 0 if the container has fewer."""
    o, container = draw_object(g, s), random_below(g, s, g.node[0, CONTAINERS])
    here, kind = s.whole[o], g.lookup[g.node[0, CLASS_OF] + o]
    first = g.lookup[g.node[0, CLASS_FIRST] + kind]
    size = g.lookup[g.node[0, CLASS_FIRST] + kind + 1] - first
    if container == here or size < 2:
        return 0
    ask(g, s, 0, o, container)
    count, wanted = 1, 2 + random_below(g, s, TOGETHER_MAX - 1)
    at = random_below(g, s, size)
    for _ in range(min(size, LOOKED_AT_MAX)):
        at = at + 1 if at + 1 < size else 0
        other = g.lookup[g.node[0, MEMBERS] + first + at]
        if other != o and s.whole[other] == here:
            ask(g, s, count, other, container)
            count += 1
            if count == wanted:
                break
    return count if count > 1 else 0
