"""Expressions 2, 3 and 12: the placement of traffic."""

from __future__ import annotations

import numpy as np

from libs.flux.program.columns import Columns
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices, Mip


def add_traffic(m: Mip, v: Columns, p: JointProblem) -> tuple[Indices, Indices, Indices]:
    """All traffic is placed; traffic that moves, and the traffic of the largest region, are counted.

        sum_r x[t,p,r]  =  traffic[t,p]                                     for all t, p
        x[t,p,r] - shift_up[t,p,r] + shift_down[t,p,r]  =  xi[p,r]          for all t, p, r
        x[t,p,r]  <=  largest[t,p]                                          for all t, p, r

    x      (T, P, R)  share of a product's traffic of today
    xi     (P, R)     presence now
    traffic  (T, P)   traffic of a step: 1 + tau, without a fall in the first one (PlanningInputs.planned_traffic)
    Rows: T*P + 2*T*P*R, returned as (T, P), (T, P, R) and (T, P, R).  Source: Flux, expressions 12, 2 and 3.
    """
    T, P, R, _, _, _ = p.shape
    row, cell = np.arange(T * P).reshape(T, P, 1), np.arange(T * P * R).reshape(T, P, R)
    placed = m.add_rows(T * P, (row, v.x, 1.0), lower=p.traffic.ravel(), upper=p.traffic.ravel())
    now = np.broadcast_to(p.xi[None], (T, P, R)).ravel()
    moved = m.add_rows(
        T * P * R, (cell, v.x, 1.0), (cell, v.shift_up, -1.0), (cell, v.shift_down, 1.0), lower=now, upper=now
    )
    largest = m.add_rows(T * P * R, (cell, v.largest[:, :, None], 1.0), (cell, v.x, -1.0), lower=0.0)
    return placed.reshape(T, P), moved.reshape(T, P, R), largest.reshape(T, P, R)


def add_oscillation(m: Mip, v: Columns, p: JointProblem) -> None:
    """Traffic that moves between consecutive steps costs, so traffic that moves back later pays twice.

        x[t,p,r] - x[t-1,p,r] - turn_up[t,p,r] + turn_down[t,p,r]  =  0     for all t > 1, p, r

    Rows: (T-1)*P*R; none if the policy sets no price for it.  Source: Flux, 3.3, timesteps.
    """
    if v.turn_up.size:
        cell = np.arange(v.turn_up.size).reshape(v.turn_up.shape)
        m.add_rows(
            cell.size,
            (cell, v.x[1:], 1.0),
            (cell, v.x[:-1], -1.0),
            (cell, v.turn_up, -1.0),
            (cell, v.turn_down, 1.0),
            lower=0.0,
            upper=0.0,
        )
