"""Choose how often to try each kind of change: kinds with more gain per try come more often."""

from __future__ import annotations

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.incremental.tables import ALIKE_WIDTH, CLASS_FIRST, MEMBERS
from libs.assignment.language.arrays import Floats
from libs.assignment.solvers.local.anneal import GAINED, TRIED
from libs.assignment.solvers.local.moves.best_of_sample import SAMPLE
from libs.assignment.solvers.local.moves.kinds import BEST_OF_SAMPLE, NAMES, PROPOSAL, SOME_OF_CLASS, SWAP_ALIKE

TRIES: Floats = np.where(np.arange(len(NAMES)) == BEST_OF_SAMPLE, SAMPLE + 1.0, 1.0)
"""Tries that a draw of each kind costs."""
BASE = (0.3, 0.2, 0.3, 0.3, 0.2, 0.05, 0.05, 0.1, 0.2)
"""Initial shares of the tries, in the order of kinds.NAMES."""
FLOOR = 0.5
"""Share of the tries that keeps the initial distribution, regardless of gains."""
MEMORY = 0.9
"""Weight of earlier knowledge, per chunk."""


class Mix:
    """The frequencies of the kinds of moves in a local search.

    base    (kinds,) initial shares of the tries, among usable kinds
    shares  (kinds,) shares of the draws; some kinds cost several tries per draw
    """

    def __init__(self, usable: Floats) -> None:
        self.base: Floats = usable * BASE / (usable * BASE).sum()
        self.rate: Floats = np.zeros(len(NAMES))
        self.shares = _draws(self.base)

    def learn(self, tally: Floats) -> None:
        """Learn from the recent results of the kinds: (kinds, 3), see anneal.py."""
        gained = tally[:, GAINED] / np.maximum(tally[:, TRIED], 1.0)
        if not gained.any():
            return
        rate = gained / gained.sum()
        self.rate = rate if not self.rate.any() else MEMORY * self.rate + (1 - MEMORY) * rate
        self.shares = _draws(FLOOR * self.base + (1 - FLOOR) * self.rate)


def _draws(of_tries: Floats) -> Floats:
    by_cost = of_tries / TRIES
    shares: Floats = by_cost / by_cost.sum()
    return shares


def usable_kinds(program: Program, *, proposals: bool) -> Floats:
    """Return 1 for kinds that are usable here, (kinds,).

    Moving several of a class needs a class with several movable objects. Swapping similar objects needs a counted
    quantity.
    """
    usable = np.ones(len(NAMES))
    first, until = program.tables.node[0, [CLASS_FIRST, MEMBERS]]
    usable[SOME_OF_CLASS] = np.diff(program.tables.lookup[first:until]).max(initial=0) > 1
    usable[PROPOSAL] = proposals
    usable[SWAP_ALIKE] = program.tables.node[0, ALIKE_WIDTH] > 0
    return usable
