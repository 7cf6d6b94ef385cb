"""Which constraint or cost decides: solve a reservation's own problem again without each of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.mip.highs import Limits, solve_mip
from libs.ras.alone import alone, own_and_free
from libs.ras.cost import cost_of
from libs.ras.explain.relaxations import ALWAYS, MOVE_COST, Relaxation, of_use, supply_of
from libs.ras.goal import goal_of
from libs.ras.model import build_model
from libs.ras.problem import CountProblem, Counts, group_servers

NODES_MAX = 500
"""Of branch and bound, per question."""
SERVER_COST = 0.01
"""What a server weighs where moves are free: without it, one that is of no use might as well be held as not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceChange:
    """Servers of one hardware type in one MSB, with everything as it is and without what was left out."""

    msb: str
    hardware_type: str
    with_it: int
    without_it: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the best answer would be without one thing, all other reservations' servers as they are.

    decides        True: there is a better answer without it, by more than the present one may be off. False: proven
                   that there is none. None: not settled within the limits
    saves          by how much the better answer is cheaper in all other costs of the policy; 0 where it does not decide
    short_rru      what the answer without it would be short of; short_rru_now: the answer with it
    changes        where the two answers differ
    """

    decides: bool | None
    saves: float
    short_rru: float
    short_rru_now: float
    changes: tuple[PlaceChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """One constraint or cost.

    now     with moves at their price: why it stays as it is
    afresh  as if moves were free, and of equally good answers the one with fewest servers were taken: why it has this
            shape at all; None for the price of moves itself
    """

    name: str
    subject: str | None
    now: Outcome
    afresh: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """The answer to "what decides".

    could_save  how much cheaper than the present servers the best of its own and the free ones are; 0: none is better
    settled     whether that is proven
    """

    could_save: float
    settled: bool
    deciders: tuple[Decider, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A problem of one reservation, and what each server that it holds costs beside."""

    problem: CountProblem
    server_cost: float

    def value(self, counts: Counts) -> float:
        return cost_of(self.problem, counts).total + self.server_cost * float(counts.sum())

    def tolerance(self, counts: Counts) -> float:
        """Values that differ by less are the same: what a solver of floats can tell apart."""
        return max(1e-4, 1e-9 * self.value(counts))

    def best(self, start: Counts, time_s: float) -> _Answer:
        """The best counts, or `start` where none are better by more than can be told apart."""
        model = build_model(self.problem)
        tolerance = self.tolerance(start)
        limits = Limits(nodes_max=NODES_MAX, time_s_max=time_s, absolute_gap=0.1 * tolerance, relative_gap=0.0)
        cost = model.model.cost.copy()
        cost[model.columns.n] += self.server_cost
        point = model.columns.point(self.problem, start)
        found = solve_mip(replace(model.model, cost=cost), limits, start=point, restarts=False)
        if found.x is None:
            return _Answer(self, start, math.inf)
        counts = model.counts(found.x)
        if self.value(start) - self.value(counts) <= tolerance:
            counts = start
        return _Answer(self, counts, max(self.value(counts) - found.bound, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """The best counts found for a view, and by how much better ones might still be missing."""

    view: _View
    counts: Counts
    slack: float


def decide(snapshot: FleetSnapshot, reservation: int, *, time_s_max: float = 10.0) -> Deciders:
    """Solve the reservation's neighbourhood, its own and the free servers, with each thing left out in turn.

    A claim that something decides rests on an answer in hand that is better without it; a claim that something does not
    rests on a bound. What takes longer than its share of time_s_max is not settled, and says so.
    """
    deadline = time.monotonic() + time_s_max
    q = snapshot.reservations
    problem = group_servers(alone(snapshot, reservation, own_and_free(snapshot, reservation)))
    problem = goal_of(of_use(problem))
    types = [t for t in np.flatnonzero(q.rru[reservation] > 0) if problem.msbs]
    supplies = [supply_of(int(t), str(snapshot.hardware_types[t]), float(q.rru[reservation, t])) for t in types]
    asked = [relaxation for relaxation in (*ALWAYS, *supplies) if relaxation.applies(problem)]
    questions = 2 * len(asked) + 2

    def time_s() -> float:
        nonlocal questions
        questions -= 1
        return max(deadline - time.monotonic(), 0.0) / (questions + 1)

    now = _View(problem, 0.0).best(problem.held, time_s())
    afresh = _View(MOVE_COST.relax(problem), SERVER_COST).best(now.counts, time_s())
    found = [
        Decider(
            name=relaxation.name,
            subject=relaxation.subject,
            now=_without(snapshot, now, relaxation, time_s()),
            afresh=_without(snapshot, afresh, relaxation, time_s()),
        )
        for relaxation in asked
    ]
    if MOVE_COST.applies(problem):
        found.append(
            Decider(name=MOVE_COST.name, subject=None, now=_outcome(snapshot, now, now.counts, afresh), afresh=None)
        )
    plain = _plain(problem, snapshot)
    could_save = cost_of(plain, problem.held).total - cost_of(plain, now.counts).total
    settled = now.slack <= 2 * now.view.tolerance(problem.held)
    return Deciders(could_save=could_save, settled=settled, deciders=tuple(found))


def _without(snapshot: FleetSnapshot, answer: _Answer, relaxation: Relaxation, time_s: float) -> Outcome:
    view = replace(answer.view, problem=relaxation.relax(answer.view.problem))
    start = np.zeros(len(view.problem.place), np.int64)
    start[np.searchsorted(view.problem.place, answer.view.problem.place)] = answer.counts
    return _outcome(snapshot, answer, start, view.best(start, time_s))


def _outcome(snapshot: FleetSnapshot, answer: _Answer, start: Counts, without: _Answer) -> Outcome:
    """What the answer without it says about the one with it: `start`, in the counts of the problem without it."""
    view, counts = without.view, without.counts
    gain, tolerance = view.value(start) - view.value(counts), view.tolerance(start)
    decides: bool | None = None
    if gain > answer.slack + tolerance:
        decides = True
    elif gain + without.slack <= 2 * tolerance:
        decides = False
    if not decides:
        counts = start
    plain = _plain(view.problem, snapshot)
    before, after = cost_of(plain, start), cost_of(plain, counts)
    msbs, types = snapshot.topology.msbs, snapshot.hardware_types
    return Outcome(
        decides=decides,
        saves=before.total - after.total,
        short_rru=float(after.shortfall_rru[0]),
        short_rru_now=float(cost_of(answer.view.problem, answer.counts).shortfall_rru[0]),
        changes=tuple(
            PlaceChange(
                msb=str(msbs[view.problem.msb[k]]),
                hardware_type=str(types[view.problem.hardware_type[k]]),
                with_it=int(start[k]),
                without_it=int(counts[k]),
            )
            for k in np.flatnonzero(counts != start)
        ),
    )


def _plain(problem: CountProblem, snapshot: FleetSnapshot) -> CountProblem:
    """The problem at the policy's own costs, but for those that the relaxation took away."""
    weighed, policy = problem.policy, snapshot.policy
    plain = replace(
        weighed,
        shortfall_cost=policy.shortfall_cost if weighed.shortfall_cost else 0.0,
        affinity_cost=policy.affinity_cost if weighed.affinity_cost else 0.0,
    )
    return replace(problem, policy=plain)
