"""Make one of the caller's proposed changes, at random."""

from __future__ import annotations

from libs.assignment.incremental.delta import ask
from libs.assignment.incremental.tables import State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.local.random_draws import random_below


@part
def ask_proposal(g: Tables, s: State, proposals: Ints) -> int:
    """Put a random proposal. Return 0 if there is none, or it would move nothing.

    proposals   (P, 2 k) object and container, k times, -1 if fewer move; no object twice
    """
    if len(proposals) == 0:
        return 0
    chosen, count = proposals[random_below(g, s, len(proposals))], 0
    for k in range(0, len(chosen), 2):
        if chosen[k] >= 0 and s.whole[chosen[k]] != chosen[k + 1]:
            ask(g, s, count, chosen[k], chosen[k + 1])
            count += 1
    return count
