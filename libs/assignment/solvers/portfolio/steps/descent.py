"""Descend in whole counts by single and double steps, until neither saves anything or the caller ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.steps.exchange import exchange
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import Network, network_of, not_followed
from libs.assignment.solvers.portfolio.steps.state import State, state_of
from libs.assignment.solvers.portfolio.steps.transfer import transfer
from libs.mip.model import Model

STEPS = 2_000
"""Steps between two checks of the clock."""
TRIES = 1_000_000
"""Evaluated changes for double steps between two checks of the clock."""


class Guide(Protocol):
    """A guide to containers and counts with a possible gain."""

    def at(self, x: Floats) -> Floats:
        """Return the largest possible saving of each container at a point (C,), (containers,)."""

    def open(self, x: Floats) -> Bools:
        """Return the counts that are worth filling, (Q,)."""


class Walk:
    """A model in which steps are followed. Without steps if they cannot follow the columns of some spec.

    not_followed  the names of such specs
    """

    def __init__(self, lowered: Lowered, model: Model, sink: int = -1) -> None:
        self.lowered, self.sink = lowered, sink
        self.not_followed = not_followed(lowered)
        self.network: Network | None = None if self.not_followed else network_of(lowered, model)

    def down(self, counts: Ints, least: float, guide: Guide, stop: Callable[[], bool]) -> Ints:
        """Return counts (Q,) that cost no more and break no further limit. A change must save at least `least`."""
        n = self.network
        if n is None or stop():
            return counts
        s = state_of(n, self.lowered.point_of(counts))
        measure(n, s)
        self._transfers(n, s, least, stop)
        while not stop():
            order = self._worst_first(s, guide, least)
            if not len(order):
                break
            opened, place = guide.open(s.value), np.zeros(2, dtype=np.int64)
            while place[0] < len(order) and not stop():
                exchange(n, s, order, place, opened, least, TRIES)
        return np.asarray(np.rint(s.value[: len(counts)]), dtype=np.int64)

    def single(self, counts: Ints, least: float, stop: Callable[[], bool]) -> Ints:
        """Improve counts (Q,) by single steps alone, each of which gains at least `least`, until `stop`."""
        n = self.network
        if n is None or stop():
            return counts
        s = state_of(n, self.lowered.point_of(counts))
        measure(n, s)
        self._transfers(n, s, least, stop)
        return np.asarray(np.rint(s.value[: len(counts)]), dtype=np.int64)

    def _transfers(self, n: Network, s: State, least: float, stop: Callable[[], bool]) -> None:
        while transfer(n, s, least, STEPS) == STEPS and not stop():
            pass

    def _worst_first(self, s: State, guide: Guide, least: float) -> Ints:
        """Return the containers to visit, the most promising first. The sink is left out, because its counts do not
        interact.
        """
        saves = np.where(s.waiting > 0, guide.at(s.value), 0.0)
        if self.sink >= 0:
            saves[self.sink] = 0.0
        order = np.argsort(-saves, kind="stable")
        return order[saves[order] > least]
