"""The placement plan: linear programs, solved until the shares of growth settle."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats
from libs.domain.placement_plan import PlacementPlan
from libs.domain.world import PlanningInputs
from libs.flux.joint_model import JointModel, build_model
from libs.flux.problem import JointProblem
from libs.mip.highs import Basis, Cancelled, Limits, Method, Solution, solve_lp

SETTLED = 0.01
"""Shares of growth have settled when none of a service's moves by more than this part of it."""
ROUNDS_MAX = 8
"""After so many linear programs the shares are held within HELD of what they are."""
HELD = 0.015


class NoPlanError(ValueError):
    """No plan can respect all limits at once. `joint` is the program that has no solution."""

    def __init__(self, joint: JointModel, message: str = "No plan respects all limits at once.") -> None:
        super().__init__(message)
        self.joint = joint


class StoppedError(RuntimeError):
    """The caller, or a limit, stopped the solver before it had any plan."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solved:
    """A plan, and the last linear program behind it.

    rounds    linear programs solved
    settled   whether the plan's own shares of growth are those it was solved with, to SETTLED
    """

    plan: PlacementPlan
    joint: JointModel
    solution: Solution
    rounds: int
    settled: bool
    build_s: float
    solve_s: float


def plan_placement(
    p: JointProblem,
    inputs: PlanningInputs,
    *,
    method: Method = "ipm",
    limits: Limits | None = None,
    cancelled: Cancelled | None = None,
) -> Solved:
    """Solve with the shares of growth of today's capacity, then of each answer, until they settle.

    Raises: NoPlanError, StoppedError.
    """
    limits = limits or Limits()
    share = _shares(p, np.broadcast_to(p.kappa, (p.shape[0], *p.kappa.shape)))
    build_s = solve_s = 0.0
    basis: Basis | None = None
    for number in range(1, ROUNDS_MAX + 2):
        began = time.perf_counter()
        hold = number > ROUNDS_MAX
        joint = build_model(p, share, held=HELD if hold else math.inf)
        built = time.perf_counter()
        start = None if hold else basis
        solution = solve_lp(joint.model, method, limits, vertex=True, start=start, cancelled=cancelled)
        basis = solution.basis
        build_s, solve_s = build_s + built - began, solve_s + solution.solve_s
        if solution.infeasible:
            raise NoPlanError(joint)
        if solution.x is None or not solution.optimal:
            raise StoppedError(f"stopped without a plan ({solution.status})")
        plan = extract_plan(p, inputs, joint, solution.x)
        now = _shares(p, plan.capacity)
        moved = np.abs(now - share)[p.growth[:, p.service] > 0].max(initial=0.0)
        if moved <= SETTLED or hold:
            break
        share = now
    return Solved(
        plan=plan,
        joint=joint,
        solution=solution,
        rounds=number,
        settled=bool(moved <= SETTLED),
        build_s=build_s,
        solve_s=solve_s,
    )


def extract_plan(p: JointProblem, inputs: PlanningInputs, joint: JointModel, x: Floats) -> PlacementPlan:
    """The plan that a point stands for, with every quantity that others imply computed from them."""
    v = joint.columns
    T, _, R, _, S, K = p.shape
    traffic = np.maximum(x[v.x], 0.0)
    residual = x[v.r_up].copy()
    residual.ravel()[v.r_down_cell] -= x[v.r_down]
    served = np.einsum("sp,tpr->tsr", p.phi, traffic)
    capacity = np.zeros((T, K, R))
    capacity[:, :S] = np.maximum(served + residual, 0.0)
    capacity[:, v.chosen] = np.maximum(x[v.c], 0.0)
    residual = p.own(capacity) - served
    growth = np.zeros_like(capacity)
    growth[:, v.grown] = np.maximum(x[v.g], 0.0)
    withheld = np.zeros(T * S)
    withheld[v.withheld_of] = x[v.withheld]
    asked = np.where(p.growth > 0, p.growth, 1.0)
    before = np.concatenate([p.kappa[None], capacity[:-1]])
    added, freed = np.maximum(capacity - before, 0.0), np.maximum(before - capacity, 0.0)
    late = max(p.policy.executed_upsize_share - 1, 0.0) * added + max(1 - p.policy.executed_downsize_share, 0.0) * freed
    left = p.supply - p.pooled(capacity + growth + late)
    deficit = np.maximum(np.maximum(x[v.d], 0.0), -left)
    return PlacementPlan(
        step=inputs.step,
        traffic=traffic,
        capacity=capacity,
        growth=growth,
        residual=residual,
        granted=1.0 - withheld.reshape(T, S) / asked,
        deficit=deficit,
        spare=left + deficit,
        double_occupancy=p.pooled(freed),
    )


def _shares(p: JointProblem, placed: Floats) -> Floats:
    """(T, K, R) what part of its service's worldwide capacity each placement holds."""
    own = placed * p.ratio[:, None]
    total = p.own(placed).sum(2)[:, p.service][:, :, None]
    even = 1.0 / (placed.shape[2] * np.bincount(p.service)[p.service])[None, :, None]
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), even)
