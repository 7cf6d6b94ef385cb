"""Greedy repair: one server at a time, always the step that saves most, until none saves anything."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Floats
from libs.ras.problem import CountProblem, Counts

LEAST_SAVING = 1e-7


class Descent:
    """Whole counts with the cost of one server more or less in each of them.

    counts  (N,) int, free (M*T,) int, add and remove (N,): change of the total cost; inf where it cannot be done.
    """

    def __init__(self, problem: CountProblem, counts: Counts) -> None:
        self.problem = problem
        self.counts = counts.copy()
        self.free = problem.supply - problem.used(counts)
        self.place = problem.place
        self.first = problem.first
        self.add = np.full(len(counts), np.inf)
        self.remove = np.full(len(counts), np.inf)
        self._by_place = np.argsort(self.place, kind="stable")
        starts = np.unique(self.place[self._by_place], return_index=True)[1]
        self._starts = np.append(starts, len(counts))
        for r in range(problem.reservations):
            self._refresh(r)

    def run(self, steps_max: int) -> int:
        """Step downhill: bind a free server, release one, or hand one over within its place. Returns steps taken."""
        if not len(self.counts):
            return 0
        for step in range(steps_max):
            saving, giver, taker = min(
                self._binding(), self._release(), self._hand_over(), key=lambda choice: choice[0]
            )
            if saving > -LEAST_SAVING:
                return step
            self._apply(giver, taker)
        return steps_max

    def _binding(self) -> tuple[float, int, int]:
        add = np.where(self.free[self.place] > 0, self.add, np.inf)
        taker = int(add.argmin())
        return float(add[taker]), -1, taker

    def _release(self) -> tuple[float, int, int]:
        giver = int(self.remove.argmin())
        return float(self.remove[giver]), giver, -1

    def _hand_over(self) -> tuple[float, int, int]:
        """The best pair of counts of one place. They are never one count: its cost is convex in the number bound."""
        saving = self._least(self.remove) + self._least(self.add)
        k = int(saving.argmin())
        columns = self._by_place[self._starts[k] : self._starts[k + 1]]
        return float(saving[k]), int(columns[self.remove[columns].argmin()]), int(columns[self.add[columns].argmin()])

    def _least(self, cost: Floats) -> Floats:
        """The lowest cost in each place that has any count."""
        return np.asarray(np.minimum.reduceat(cost[self._by_place], self._starts[:-1]))

    def _apply(self, giver: int, taker: int) -> None:
        for column, change in ((giver, -1), (taker, 1)):
            if column >= 0:
                self.counts[column] += change
                self.free[self.place[column]] -= change
                self._refresh(int(self.problem.reservation[column]))

    def _refresh(self, r: int) -> None:
        mine = slice(self.first[r], self.first[r + 1])
        self.add[mine], self.remove[mine] = marginal_costs(self.problem, r, mine, self.counts[mine])


def marginal_costs(p: CountProblem, r: int, mine: slice, counts: Counts) -> tuple[Floats, Floats]:
    """(k,) and (k,) change of reservation r's cost by one server more, and by one less, in each of its counts.

    inf where it cannot be, or would leave r with more of a penalty than it has and may have.
    """
    policy, msb, v = p.policy, p.msb[mine], p.rru[mine]
    load = np.bincount(msb, v * counts, p.msbs)
    total, worst, at = load.sum(), load.max(initial=0.0), int(load.argmax())
    others = np.where(msb == at, np.delete(load, at).max(initial=0.0), worst)
    capacity, limit, survives = p.capacity_rru[r], p.msb_limit_rru[r], bool(p.survives[r])
    datacenter = p.msb_datacenter[msb]
    by_datacenter = np.bincount(p.msb_datacenter, load, p.affinity_share.shape[1])[datacenter]
    wanted, band = p.affinity_share[r, datacenter] * capacity, policy.affinity_tolerance * capacity

    off = np.bincount(p.msb_datacenter, load, p.affinity_share.shape[1]) - p.affinity_share[r] * capacity
    off = np.maximum(np.nan_to_num(np.abs(off) - band, nan=0.0), 0.0)
    elsewhere = off.sum() - off[datacenter]  # outside the bands of the datacenters that do not change
    short_now = max(capacity - (total - (worst if survives else 0.0)), 0.0)
    penalty_now = policy.shortfall_cost * short_now + policy.affinity_cost * off.sum()
    penalty_most = max(penalty_now, p.penalty_most[r] + p.penalty_slack)

    def cost(change: int) -> Floats:
        after = load[msb] + change * v
        largest = np.maximum(others, after) if survives else np.zeros_like(after)
        short = np.maximum(capacity - (total + change * v - largest), 0.0)
        outside = np.maximum(np.nan_to_num(np.abs(by_datacenter + change * v - wanted) - band, nan=0.0), 0.0)
        excess = np.maximum(after - limit, 0.0)
        penalty = policy.shortfall_cost * short + policy.affinity_cost * (outside + elsewhere)
        if change:
            penalty = np.where(penalty > penalty_most, np.inf, penalty)
        return np.asarray(policy.buffer_cost * largest + policy.spread_cost * excess + penalty)

    now = cost(0)
    gone = p.held[mine] - counts
    cheap = p.held_cheap[mine]
    back = np.where(gone > 0, np.where(gone > cheap, p.leave_cost_dear, p.leave_cost_cheap), 0.0)
    leave = np.where(gone >= 0, np.where(gone >= cheap, p.leave_cost_dear, p.leave_cost_cheap), 0.0)
    add = np.where(counts < p.most[mine], cost(1) - now - back, np.inf)
    remove = np.where(counts > 0, cost(-1) - now + leave, np.inf)
    return add, remove
