"""The columns of the joint program with their costs: expressions 2 to 7 are linear in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices, Mip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """Column indices by meaning. T steps, P products, R regions, H hardware types, S services, K placements.

    x         (T, P, R)  traffic; bounded by the presence limits
    shift_up, shift_down  (T, P, R)  excess of x over presence now, and shortfall of x below it
    turn_up, turn_down    (T-1, P, R) or (0, P, R)  rise and fall of x from step to step; only if the policy prices them
    largest   (T, P)     traffic of a product in its largest region
    c         (T, E, R)  capacity of the E placements of services on several types; `chosen` lists these placements. All
                         others follow from traffic and residual, see CapacityTerms, and need no columns
    up, down  (T, K, R)  capacity added and freed since the previous step; `up` exists only if it is priced
    r_up      (T, S, R)  residual, or its part above 0
    r_down    (N,)       part of the residual below 0, for cells where it may be below 0; r_down_cell has their flat
              (T, S, R) indices
    withheld  (W,)       units of growth not granted; withheld_of has the flat (T, S) index of each
    s, d      (T, H, R)  spare, deficit
    spare     (T, H)     spare, worldwide
    uneven    (T, H, R)  distance of spare from its even share
    """

    x: Indices
    shift_up: Indices
    shift_down: Indices
    turn_up: Indices
    turn_down: Indices
    largest: Indices
    c: Indices
    chosen: Indices
    up: Indices
    down: Indices
    r_up: Indices
    r_down: Indices
    r_down_cell: Indices
    withheld: Indices
    withheld_of: Indices
    s: Indices
    d: Indices
    spare: Indices
    uneven: Indices


def add_columns(m: Mip, p: JointProblem) -> Columns:
    """Add all columns. The objective is the sum of expressions 2 to 7 and of this planner's own goals."""
    T, P, R, H, S, K = p.shape
    cost = p.policy
    turns = T - 1 if cost.oscillation > 0 else 0
    ups = T if cost.executed_upsize_share > 1 else 0
    whole, limited = p.traffic[:, :, None], np.isfinite(p.presence_max)
    most = np.where(limited, whole * np.where(limited, p.presence_max, 0.0), np.inf)  # no limit on no traffic either
    r_lower, r_upper, r_cost, r_down_cell, r_down_max = _residual_columns(p)
    m.offset -= float((r_cost * r_lower).sum())  # the part that is kept costs nothing
    chosen = np.flatnonzero(~p.alone[p.service])
    withheld_of = np.flatnonzero((p.growth > 0) & np.isfinite(p.yielding))
    return Columns(
        x=_block(m, (T, P, R), lower=whole * p.presence_min, upper=most),
        shift_up=_block(m, (T, P, R), cost=cost.e1_traffic_shift),
        shift_down=_block(m, (T, P, R), cost=cost.e1_traffic_shift),
        turn_up=_block(m, (turns, P, R), cost=cost.oscillation),
        turn_down=_block(m, (turns, P, R), cost=cost.oscillation),
        largest=_block(m, (T, P), cost=cost.e2_largest_region),
        c=_block(m, (T, len(chosen), R), lower=p.capacity_min[:, chosen], upper=p.capacity_max[:, chosen]),
        chosen=chosen,
        up=_block(m, (ups, K, R)),
        down=_block(m, (T, K, R), cost=cost.e4_double_occupancy),
        r_up=_block(m, (T, S, R), lower=r_lower, upper=r_upper, cost=r_cost),
        r_down=m.add_columns(len(r_down_cell), cost=r_cost.ravel()[r_down_cell], upper=r_down_max),
        r_down_cell=r_down_cell,
        withheld=m.add_columns(
            len(withheld_of), cost=p.yielding.ravel()[withheld_of], upper=p.growth.ravel()[withheld_of]
        ),
        withheld_of=withheld_of,
        s=_block(m, (T, H, R)),
        d=_block(m, (T, H, R), cost=cost.e3_deficit),
        spare=_block(m, (T, H)),
        uneven=_block(m, (T, H, R), cost=cost.e6_spare_balance),
    )


def _residual_columns(p: JointProblem) -> tuple[Floats, Floats, Floats, Indices, Floats]:
    """Return lower bounds, upper bounds and costs of residuals, and the cells and upper bounds of r_down.

    A residual that is kept is a constant. A residual that may be rebalanced costs its size and may fall to min(rho, 0).
    If rho >= 0, a single column above 0 is enough; otherwise a second column holds the part below 0.

    A kept residual may grow, at a cost, in two cases. In the first, traffic shrinks so far that keeping the residual
    would take capacity away. In the second, load tests may ask for more capacity.

    Source: Flux, expressions 6 and 10.
    """
    T, _, R, _, S, _ = p.shape
    everywhere = (T, S, R)
    served = p.traffic @ p.phi.T
    kept = np.broadcast_to(p.keeps[None, :, None], everywhere)
    grows = p.keeps & ((served + p.rho.sum(2) < p.total_min * (1 - 1e-9)) | p.load.any(1))
    lower = np.where(kept, p.rho, 0.0)
    upper = np.where(kept & ~grows[:, :, None], p.rho, np.inf)
    price = p.policy.e5_residual * np.broadcast_to(p.weight[None], everywhere)
    cost = np.where(kept & ~grows[:, :, None], 0.0, price)
    cell = np.flatnonzero(~kept & (p.rho < 0))
    return lower, upper, cost, cell, -p.rho.ravel()[cell]


def _block(
    m: Mip, shape: tuple[int, ...], *, cost: object = 0.0, lower: object = 0.0, upper: object = np.inf
) -> Indices:
    """Add columns, and return their indices as an array of the shape `shape`. Bounds and costs are broadcast to
    `shape`.
    """
    size = int(np.prod(shape))
    spread = (np.broadcast_to(np.asarray(v, np.float64), shape).ravel() for v in (cost, lower, upper))
    c, lo, hi = spread
    return m.add_columns(size, cost=c, lower=lo, upper=hi).reshape(shape)
