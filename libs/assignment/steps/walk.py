"""Whole counts go down by steps, and by two steps that meet, until neither saves anything or the caller ends it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from libs.assignment.arrays import Bools, Floats, Ints
from libs.assignment.lowering.lowered import Lowered
from libs.assignment.steps.exchange import exchange
from libs.assignment.steps.margins import measure
from libs.assignment.steps.network import Network, network_of
from libs.assignment.steps.state import state_of
from libs.assignment.steps.transfer import transfer
from libs.mip.model import Model

STEPS = 2_000
"""Steps between two looks at the clock."""
TRIES = 1_000_000
"""Likewise, of changes that are looked at for two steps."""


class Walk:
    """A model in which steps can be followed; `network` is None where they cannot, and nothing is done."""

    def __init__(self, lowered: Lowered, model: Model, sink: int = -1) -> None:
        self.lowered, self.sink = lowered, sink
        self.network: Network | None = network_of(lowered, model)

    def down(
        self, counts: Ints, least: float, stop: Callable[[], bool], opened: Callable[[Floats], Bools] | None = None
    ) -> Ints:
        """(Q,) counts that cost no more, with all limits kept that were kept.

        least   what a change must save
        opened  at a point (C,), the counts (Q,) that are worth taking objects into; None: all are
        """
        n = self.network
        if n is None or stop():
            return counts
        s = state_of(n, self.lowered.point_of(counts))
        measure(n, s)
        while transfer(n, s, least, STEPS) == STEPS and not stop():
            pass
        order = np.flatnonzero(s.waiting)
        order = order[order != self.sink]  # what its counts cost does not depend on each other
        while len(order) and not stop():
            some = np.ones(len(counts), dtype=np.bool_) if opened is None else opened(s.value)
            while len(order) and not stop():
                order = order[exchange(n, s, order, some, least, TRIES) :]
            order = np.flatnonzero(s.waiting)
            order = order[order != self.sink]
        return np.asarray(np.rint(s.value[: len(counts)]), dtype=np.int64)
