"""What counts cost, term by term and reservation by reservation: the objective of the grouped model, by definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats
from libs.ras.problem import Amounts, CountProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountCost:
    """Costs (R,) each, in the policy's currency, and the shortfall (R,) in RRU behind one of them."""

    stability: Floats
    msb_spread: Floats
    buffer: Floats
    shortfall: Floats
    affinity: Floats
    shortfall_rru: Floats

    @property
    def by_reservation(self) -> Floats:
        """(R,) all terms."""
        return self.stability + self.msb_spread + self.buffer + self.penalty_by_reservation

    @property
    def penalty_by_reservation(self) -> Floats:
        """(R,) shortfall and affinity."""
        return self.shortfall + self.affinity

    @property
    def penalty(self) -> float:
        """Shortfall and affinity: what the paper's hard constraints would forbid."""
        return float(self.penalty_by_reservation.sum())

    @property
    def total(self) -> float:
        """Expressions 1, 3 and 4 and the penalties of 6 and 7."""
        return float(self.by_reservation.sum())


def leaving(problem: CountProblem, counts: Amounts) -> tuple[Floats, Floats]:
    """(N,) cheap and (N,) dear servers that leave, the cheap ones first."""
    gone = np.maximum(problem.held - counts, 0.0)
    cheap = np.minimum(gone, problem.held_cheap)
    return cheap, gone - cheap


def loads(problem: CountProblem, counts: Amounts) -> Floats:
    """(R, M) RRU of each reservation in each MSB."""
    R, M = problem.reservations, problem.msbs
    return (
        np.bincount(problem.reservation * M + problem.msb, problem.rru * counts, R * M)
        .astype(np.float64, copy=False)
        .reshape(R, M)
    )


def outside_affinity(problem: CountProblem, load: Floats) -> Floats:
    """(R, D) RRU outside the band of expression 7; 0 where nothing is asked.

    max(0, |load[r,d] - A[r,d] C[r]| - theta C[r])
    """
    D = problem.affinity_share.shape[1]
    by_datacenter = np.zeros((problem.reservations, D))
    np.add.at(by_datacenter.T, problem.msb_datacenter, load.T)
    capacity = problem.capacity_rru[:, None]
    off = np.abs(by_datacenter - problem.affinity_share * capacity) - problem.policy.affinity_tolerance * capacity
    return np.maximum(np.nan_to_num(off, nan=0.0), 0.0)


def cost_of(problem: CountProblem, counts: Amounts) -> CountCost:
    """Cost of counts (N,), fractional ones too. Does not look at supply."""
    policy, R = problem.policy, problem.reservations
    cheap, dear = leaving(problem, counts)
    load = loads(problem, counts)
    worst = np.where(problem.survives, load.max(1, initial=0.0), 0.0)
    short = np.maximum(problem.capacity_rru - (load.sum(1) - worst), 0.0)
    left = problem.leave_cost_cheap * cheap + problem.leave_cost_dear * dear
    return CountCost(
        stability=np.bincount(problem.reservation, left, R).astype(np.float64, copy=False),
        msb_spread=policy.spread_cost * np.maximum(load - problem.msb_limit_rru[:, None], 0.0).sum(1),
        buffer=policy.buffer_cost * worst,
        shortfall=policy.shortfall_cost * short,
        affinity=policy.affinity_cost * outside_affinity(problem, load).sum(1),
        shortfall_rru=short,
    )
