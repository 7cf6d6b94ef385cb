"""Move one object to the best of some random containers (the paper's SINGLE_RANDOM)."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask, evaluate_single
from libs.assignment.incremental.tables import CONTAINERS, LEVELS, State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.solvers.local.random_draws import draw_object, random_below

SAMPLE = 8
"""Number of containers to evaluate. Each evaluation counts as a try."""


@part
def ask_best_of_sample(g: Tables, s: State, level: int) -> int:
    """Put the best of the evaluated moves. Return 0 if none is allowed."""
    o, best, least = draw_object(g, s), -1, 0.0
    for _ in range(SAMPLE):
        container = random_below(g, s, g.node[0, CONTAINERS])
        if container == s.whole[o]:
            continue
        ask(g, s, 0, o, container)
        if evaluate_single(g, s):
            cost = s.part[g.node[0, LEVELS] + level]
            if best < 0 or cost < least:
                best, least = container, cost
    if best < 0:
        return 0
    ask(g, s, 0, o, best)
    return 1
