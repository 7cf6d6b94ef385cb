"""How often each kind of change is tried: the more, the more it has gained per try."""

from __future__ import annotations

import numpy as np

from libs.assignment.incremental.program import Program
from libs.assignment.incremental.tables import ALIKE_WIDTH, CLASS_FIRST, MEMBERS
from libs.assignment.language.arrays import Floats
from libs.assignment.solvers.local.anneal import GAINED, TRIED
from libs.assignment.solvers.local.moves.best_of_sample import SAMPLE
from libs.assignment.solvers.local.moves.kinds import BEST_OF_SAMPLE, NAMES, PROPOSAL, SOME_OF_CLASS, SWAP_ALIKE

TRIES: Floats = np.where(np.arange(len(NAMES)) == BEST_OF_SAMPLE, SAMPLE + 1.0, 1.0)
"""That a draw of each kind costs."""
BASE = (0.3, 0.2, 0.3, 0.3, 0.2, 0.05, 0.05, 0.1, 0.2)
"""Shares of the tries at first, in the order of kinds.NAMES."""
FLOOR = 0.5
"""Of the tries: shared out so whatever the kinds gained."""
MEMORY = 0.9
"""Weight of what was known before, chunk by chunk."""


class Mix:
    """How often each kind is drawn.

    base    (kinds,) shares of the tries at first: of those that can do anything
    shares  (kinds,) of the draws, of which some cost several tries
    """

    def __init__(self, usable: Floats) -> None:
        self.base: Floats = usable * BASE / (usable * BASE).sum()
        self.rate: Floats = np.zeros(len(NAMES))
        self.shares = _draws(self.base)

    def learn(self, tally: Floats) -> None:
        """From what the kinds did lately: (kinds, 3), see anneal.py."""
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
    """(kinds,) 1 for those that can do anything here: several of a class need a class of several that may move,
    and objects that are alike something that is counted of them.
    """
    usable = np.ones(len(NAMES))
    first, until = program.tables.node[0, [CLASS_FIRST, MEMBERS]]
    usable[SOME_OF_CLASS] = np.diff(program.tables.lookup[first:until]).max(initial=0) > 1
    usable[PROPOSAL] = proposals
    usable[SWAP_ALIKE] = program.tables.node[0, ALIKE_WIDTH] > 0
    return usable
