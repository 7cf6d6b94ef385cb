"""Lower the cost of whole counts by steps, until no step saves anything or the caller ends the descent.

A count is the number of objects of one class in one container. A single step moves objects of one class from one
container to another. A double step makes two single steps at once that meet in one container. A container may also
leave all counts of a column at once (vacate.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.steps.exchange import exchange
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import Network, network_of, not_followed, with_cost
from libs.assignment.solvers.portfolio.steps.state import MOVES_MAX, State, state_of
from libs.assignment.solvers.portfolio.steps.transfer import transfer
from libs.assignment.solvers.portfolio.steps.vacate import OBJECTS_MAX, leavable, vacate
from libs.mip.model import Model

VISITS = 2_000_000
"""Number of classes and counts that single steps look at between two checks of the clock."""
TRIES = 500_000
"""Number of changes evaluated in double steps between two checks of the clock."""
PATIENCE, PATIENCE_MIN = 10, 1_000_000
"""Number of changes, per group of alike counts and at least, that must together save what the caller of a descent asks
for.
"""
ASKED = 5_000_000
"""Number of changes for which the caller asks that. Fewer must save so much less."""
EARLY, EARLY_MIN = 20, 2_000_000
"""Number of changes, per group of alike counts and at least, after which a long descent is within a percent of its
end.
"""
UNLIMITED = int(np.iinfo(np.int64).max)
"""Number of changes to evaluate if only the caller ends a descent."""


class Guide(Protocol):
    """A guide of the descent to the containers and counts in which double steps may save cost."""

    def at(self, x: Floats) -> Floats:
        """Return for each container the most that can be saved there at the point `x` (C,), (containers,)."""

    def open(self, x: Floats) -> Bools:
        """Return for each count whether more objects in it may save cost at the point `x` (C,), (Q,)."""


class Walk:
    """A descent by steps in one model.

    A step is followed when the network computes how all other columns change with it. If the network cannot follow the
    columns of some spec, the descent makes no steps.

    not_followed  the names of the specs whose columns the network cannot follow
    tried         number of changes evaluated so far
    """

    def __init__(self, lowered: Lowered, model: Model, sink: int = -1) -> None:
        self.lowered, self.sink = lowered, sink
        self.not_followed = not_followed(lowered)
        self.network: Network | None = None if self.not_followed else network_of(lowered, model)
        self._leavable = leavable(lowered)
        self.tried = 0

    @property
    def groups(self) -> int:
        """Return the number of groups of alike counts, of which steps try only the best; 0 without steps."""
        return 0 if self.network is None else len(self.network.group_at) - 1

    def follow(self, cost: Floats) -> None:
        """Let the costs (C,) be the objective of the descents from now on."""
        if self.network is not None and not np.array_equal(self.network.cost, cost):
            self.network = with_cost(self.network, cost)

    def down(
        self,
        counts: Ints,
        least: float,
        guide: Guide,
        stop: Callable[[], bool],
        tries_max: int = UNLIMITED,
        *,
        worth: float = 0.0,
        since: Ints | None = None,
        early: Callable[[Ints], None] | None = None,
    ) -> Ints:
        """Return counts (Q,) that cost no more than `counts` (Q,) and break no further limit.

        Make single steps, and then double steps. Each step saves at least `least`.

        guide      tells which containers to visit, and which counts to fill
        stop       returns True to end the descent
        tries_max  number of changes to evaluate, after which no further double step begins
        worth      what many changes in a row must save together, or the descent ends. The first visits save most
        since      counts (Q,) from which this descent found no step. It visits only the containers that differ
        early      called once with the counts near the end of a long descent, so that others can begin with them
        """
        n = self.network
        if n is None or stop():
            return counts
        s = self._after_transfers(n, counts, least, stop, since)
        if tries_max == UNLIMITED:
            self._leave(n, s, guide, least, stop)
        patience = max(PATIENCE * self.groups, PATIENCE_MIN)
        worth *= min(1.0, patience / ASKED)
        cost, until = n.cost @ s.value, s.tried[0] + patience
        hears_at = s.tried[0] + max(EARLY * self.groups, EARLY_MIN)
        while not stop() and s.tried[0] < tries_max:
            order = self._worst_first(s, guide, least)
            if not len(order):
                break
            opened, place = guide.open(s.value), np.zeros(2, dtype=np.int64)
            while place[0] < len(order) and not stop() and s.tried[0] < tries_max:
                exchange(n, s, order, place, opened, least, min(TRIES, tries_max - int(s.tried[0])))
                if early is not None and s.tried[0] >= hears_at:
                    early(_counts(s, len(counts)))
                    early = None
                if s.tried[0] >= until:
                    before, cost, until = cost, n.cost @ s.value, s.tried[0] + patience
                    if before - cost < worth:
                        return self._ended(s, len(counts))
        if tries_max == UNLIMITED:
            self._leave(n, s, guide, least, stop)
        return self._ended(s, len(counts))

    def _leave(self, n: Network, s: State, guide: Guide, least: float, stop: Callable[[], bool]) -> None:
        """Let containers leave columns of steps, those with fewest objects first, as long as a round saves anything."""
        may = self._leavable
        log, by = np.zeros(MOVES_MAX * OBJECTS_MAX, np.int64), np.zeros(MOVES_MAX * OBJECTS_MAX)
        saved = -np.inf
        while len(may.column) and saved < -least and not stop():
            number = np.add.reduceat(s.value[may.counts], may.first[:-1])
            order = np.argsort(number, kind="stable")
            order = order[(number[order] > 0) & (number[order] <= OBJECTS_MAX)]
            opened, place, saved = guide.open(s.value), np.zeros(1, np.int64), 0.0
            while place[0] < len(order) and not stop():
                saved += vacate(n, s, may, order, place, opened, log, by, least, TRIES)
            self._transfers(n, s, least, stop)

    def single(self, counts: Ints, least: float, stop: Callable[[], bool]) -> Ints:
        """Return `counts` (Q,) after single steps alone. Each step saves at least `least`.

        stop  returns True to end the descent
        """
        n = self.network
        if n is None or stop():
            return counts
        return self._ended(self._after_transfers(n, counts, least, stop), len(counts))

    def _after_transfers(
        self, n: Network, counts: Ints, least: float, stop: Callable[[], bool], since: Ints | None = None
    ) -> State:
        """Return the state of `counts` after single steps. `since` as in `down`."""
        s = state_of(n, self.lowered.point_of(counts))
        measure(n, s)
        containers = len(self.lowered.problem.containers)
        if since is not None:
            s.waiting[:] = np.bincount(self.lowered.container[counts != since], minlength=containers) > 0
        self._transfers(n, s, least, stop)
        return s

    def _transfers(self, n: Network, s: State, least: float, stop: Callable[[], bool]) -> None:
        """Make single steps until none saves anything."""
        steps = max(1, VISITS // (n.kinds + 2 * len(n.kind) // n.containers))  # a step looks at two containers
        while transfer(n, s, least, steps) == steps and not stop():
            pass

    def _worst_first(self, s: State, guide: Guide, least: float) -> Ints:
        """Return the containers to visit, those with the largest possible saving first.

        Leave out containers that could save at most `least`, and containers without new costs since their last visit.
        Leave out the sink, the container of unplaced objects, because its counts do not interact.
        """
        saves = np.where(s.waiting > 0, guide.at(s.value), 0.0)
        if self.sink >= 0:
            saves[self.sink] = 0.0
        order = np.argsort(-saves, kind="stable")
        return order[saves[order] > least]

    def _ended(self, s: State, number: int) -> Ints:
        """Return the counts of a state, (number,), and count its tries."""
        self.tried += int(s.tried[0])
        return _counts(s, number)


def _counts(s: State, number: int) -> Ints:
    """Return the counts of a state, (number,), which are its first columns."""
    return np.asarray(np.rint(s.value[:number]), dtype=np.int64)
