"""Find the constraint or cost that decides: solve a reservation's own problem again without each of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.mip.highs import Limits, solve_mip
from libs.mip.model import Model
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.explain.relaxations import ALWAYS, MOVE_COST, Relaxation, of_use, supply_of
from libs.ras.search_objective import goal_model
from libs.ras.single_reservation import alone, own_and_free
from libs.ras.statement import Statement, state_region

NODES_MAX = 500
"""Nodes of branch and bound per question."""
SERVER_COST = 0.01
"""Cost of a server with free moves. Without it, a useless server could as well be held as not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceChange:
    """Servers of one hardware type in one MSB: in the best answers with and without the omitted term."""

    msb: str
    hardware_type: str
    with_it: int
    without_it: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The best answer without one constraint or cost, with the servers of all other reservations fixed.

    decides        True: a better answer without it exists, beyond the error of the present one. False: proven that
                   none exists. None: not settled within the limits
    saves          saving of the better answer in all other costs of the policy; 0 if it does not decide
    short_rru      shortfall of the answer without it; short_rru_now: of the answer with it
    changes        the places where the two answers differ
    """

    decides: bool | None
    saves: float
    short_rru: float
    short_rru_now: float
    changes: tuple[PlaceChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """One constraint or cost.

    now     with priced moves: why the reservation keeps its present servers
    afresh  with free moves, and the fewest servers among equally good answers: why it has this shape at all; None for
            the price of moves itself
    """

    name: str
    subject: str | None
    now: Outcome
    afresh: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """The answer to "what decides".

    could_save  saving of the best choice among its own and the free servers; 0: none is better
    settled     whether that is proven
    """

    could_save: float
    settled: bool
    deciders: tuple[Decider, ...]


class _View:
    """The region of one reservation as a search sees it, with an additional cost for each held server.

    penalty_most   (1,)  upper limit of the reservation's penalties, in any relaxed region
    """

    def __init__(self, snapshot: FleetSnapshot, server_cost: float, penalty_most: Floats) -> None:
        self.snapshot, self.server_cost, self.penalty_most = snapshot, server_cost, penalty_most
        self.statement: Statement = state_region(snapshot, penalty_most)
        self.lowered: Lowered = lower(self.statement.problem)
        model = goal_model(self.lowered, snapshot.policy)
        cost = model.cost.copy()
        cost[: len(self.lowered.kind)] += server_cost * (self.lowered.container != self.statement.free)
        self.model: Model = replace(model, cost=cost)

    def without(self, relaxation: Relaxation) -> _View:
        """Return the view without one constraint or cost."""
        return _View(relaxation.relax(self.snapshot), self.server_cost, self.penalty_most)

    def point(self, binding: Indices) -> Floats:
        """Return the point of a binding (S,) of the first S servers, (C,). Further servers are free."""
        more = np.full(len(self.snapshot.servers) - len(binding), FREE, np.int32)
        assignment = self.statement.assignment(np.concatenate([binding, more]))
        return self.lowered.point_of(self.lowered.counts(assignment))

    def value(self, binding: Indices) -> float:
        """Return the value that the search minimises."""
        return self.model.objective(self.point(binding))

    def tolerance(self, binding: Indices) -> float:
        """Return the difference below which two values count as equal, because of rounding in solvers."""
        return max(1e-4, 1e-9 * self.value(binding))

    def best(self, start: Indices, time_s: float) -> _Answer:
        """Return the best binding, or `start` if none is better by more than the tolerance."""
        tolerance = self.tolerance(start)
        limits = Limits(nodes_max=NODES_MAX, time_s_max=time_s, absolute_gap=0.1 * tolerance, relative_gap=0.0)
        found = solve_mip(self.model, limits, start=self.point(start), restarts=False)
        if found.x is None:
            return _Answer(self, start, math.inf)
        counts = np.rint(found.x[: len(self.lowered.kind)]).astype(np.int64)
        binding = self.statement.binding(self.lowered.assignment(counts), self.snapshot.servers.target)
        if self.value(start) - self.value(binding) <= tolerance:
            binding = start
        return _Answer(self, binding, max(self.value(binding) - found.bound, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """The best binding found for a view, and how much better ones might still be missing."""

    view: _View
    binding: Indices
    slack: float


def decide(snapshot: FleetSnapshot, reservation: int, *, time_s_max: float = 10.0) -> Deciders:
    """Solve the reservation with its own and the free servers, with each constraint or cost left out in turn.

    A claim that a term decides rests on a better answer without it. A claim that it does not decide rests on a bound. A
    question that exceeds its share of time_s_max stays unsettled.
    """
    deadline = time.monotonic() + time_s_max
    own = of_use(alone(snapshot, reservation, own_and_free(snapshot, reservation)))
    held = np.maximum(own.servers.target, FREE)
    has, policy = coverage_of(own, held), own.policy
    penalty_most = policy.shortfall_cost * has.shortfall + policy.affinity_cost * has.off_affinity.sum(1)
    types = np.flatnonzero((own.reservations.rru[0] > 0) & (len(own.topology.msbs) > 0))
    supplies = [supply_of(own, int(t)) for t in types]
    asked = [relaxation for relaxation in (*ALWAYS, *supplies) if relaxation.applies(own)]
    questions = 2 * len(asked) + 2

    def time_s() -> float:
        nonlocal questions
        questions -= 1
        return max(deadline - time.monotonic(), 0.0) / (questions + 1)

    now = _View(own, 0.0, penalty_most).best(held, time_s())
    afresh = _View(MOVE_COST.relax(own), SERVER_COST, penalty_most).best(now.binding, time_s())
    found = [
        Decider(
            name=relaxation.name,
            subject=relaxation.subject,
            now=_without(now, relaxation, time_s()),
            afresh=_without(afresh, relaxation, time_s()),
        )
        for relaxation in asked
    ]
    if MOVE_COST.applies(own):
        found.append(Decider(name=MOVE_COST.name, subject=None, now=_outcome(now, now.binding, afresh), afresh=None))
    could_save = _plain(own, held) - _plain(own, now.binding)
    settled = now.slack <= 2 * now.view.tolerance(held)
    return Deciders(could_save=could_save, settled=settled, deciders=tuple(found))


def _without(answer: _Answer, relaxation: Relaxation, time_s: float) -> Outcome:
    view = answer.view.without(relaxation)
    more = len(view.snapshot.servers) - len(answer.binding)
    start = np.concatenate([answer.binding, np.full(more, FREE, np.int32)])
    return _outcome(answer, start, view.best(start, time_s))


def _outcome(answer: _Answer, start: Indices, without: _Answer) -> Outcome:
    """Compare the answer without a term with the one with it: `start`, among the servers of the region without the
    term.
    """
    view, binding = without.view, without.binding
    gain, tolerance = view.value(start) - view.value(binding), view.tolerance(start)
    decides: bool | None = None
    if gain > answer.slack + tolerance:
        decides = True
    elif gain + without.slack <= 2 * tolerance:
        decides = False
    if not decides:
        binding = start
    snapshot = view.snapshot
    had, gets = _by_place(snapshot, start), _by_place(snapshot, binding)
    msbs, types = snapshot.topology.msbs, snapshot.hardware_types
    return Outcome(
        decides=decides,
        saves=_plain(snapshot, start) - _plain(snapshot, binding),
        short_rru=float(coverage_of(snapshot, binding).shortfall[0]),
        short_rru_now=float(coverage_of(answer.view.snapshot, answer.binding).shortfall[0]),
        changes=tuple(
            PlaceChange(
                msb=str(msbs[m]), hardware_type=str(types[t]), with_it=int(had[m, t]), without_it=int(gets[m, t])
            )
            for m, t in np.argwhere(had != gets)
        ),
    )


def _plain(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return the cost by the policy's own costs, without racks."""
    return evaluate(snapshot, binding).total_without_rack


def _by_place(snapshot: FleetSnapshot, binding: Indices) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Count the bound lasting servers of each MSB and hardware type, (M, T)."""
    counts = np.zeros((len(snapshot.topology.msbs), len(snapshot.hardware_types)), np.int64)
    rows = snapshot.servers.lasting & (binding >= 0)
    np.add.at(counts, (snapshot.server_msb[rows], snapshot.servers.hardware_type[rows]), 1)
    return counts
