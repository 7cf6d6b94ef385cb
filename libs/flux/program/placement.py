"""Compute the placement plan by a linear program. The program assumes how large each service becomes, and is solved
again if that was wrong.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.placement_plan import PlacementPlan
from libs.domain.world import PlanningInputs
from libs.flux.program.growth_terms import GrowthTerms
from libs.flux.program.joint_model import JointModel, build_model
from libs.flux.program.problem import JointProblem
from libs.flux.program.region_loss import guard, simulate_losses
from libs.mip.highs import Basis, Cancelled, Limits, Method, Solution, SolverError, solve_lp

SETTLED = 0.01
"""Largest allowed error of a placement's growth in a settled plan, as a share of the growth granted to its service.
Growth should be in proportion to the capacity of the placements.
"""
NOISE = 1e-6
"""Share of the growth asked for below which such an error is rounding noise."""
TOTAL_SETTLED = 1e-3
"""Largest error of a service's assumed worldwide capacity in a settled plan, as a part of that capacity.

Growth may be below 0 by at most the same part of the service's growth.
"""
OUTLASTS = 1e-3
"""A load-tested service survives the loss of a region if it lacks at most this share of its need."""
ROUNDS_MAX = 20
"""Largest number of linear programs. After the last program, growth follows its capacity, even at a deficit."""
SIMPLEX_ROWS_MAX = 25_000
"""Largest number of rows for dual simplex. For more rows, interior point is faster.

CPU seconds of dual simplex and interior point: 0.9 and 1.5 at 21,000 rows, equal at 37,000, 138 and 40 at 232,000.
"""


class NoPlanError(ValueError):
    """No plan respects all limits at once. `joint` is the program without a solution."""

    def __init__(self, joint: JointModel, message: str = "No plan respects all limits at once.") -> None:
        super().__init__(message)
        self.joint = joint


class StoppedError(RuntimeError):
    """The caller or a limit stopped the solver before it had a plan."""


class UnsolvedError(RuntimeError):
    """The solver gave up by itself. It does so where numbers of the inputs are too far apart."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solved:
    """A placement plan, with the last linear program that was solved for it (`joint`) and the solution of that program.

    rounds    number of linear programs solved
    settled   True if the plan fulfils the program's assumptions: growth follows capacity within SETTLED, and
              load-tested services survive the loss of any region within OUTLASTS
    build_s, solve_s          wall-clock seconds for building and solving all programs
    build_cpu_s, solve_cpu_s  CPU seconds of this process for the same
    """

    plan: PlacementPlan
    joint: JointModel
    solution: Solution
    rounds: int
    settled: bool
    build_s: float
    solve_s: float
    build_cpu_s: float
    solve_cpu_s: float


def plan_placement(
    p: JointProblem,
    inputs: PlanningInputs,
    *,
    method: Method | None = None,
    limits: Limits | None = None,
    cancelled: Cancelled | None = None,
) -> Solved:
    """Solve linear programs until a solution agrees with its assumptions. The first program assumes a worldwide
    capacity of each service. Each later program assumes the capacity in the solution before.

    One program is usually enough. There are three reasons for another one:

    - Limits or residuals make a service larger than its traffic and its baseline do.
    - Growth is withheld.
    - Services are load-tested. The capacity estimator then simulates the loss of each region with the traffic of the
      solution. The program is solved again until the capacity suffices.

    method   None: dual simplex for at most SIMPLEX_ROWS_MAX rows, else interior point

    Raises NoPlanError, StoppedError or UnsolvedError.
    """
    limits = limits or Limits()
    total, share = _expected_total(p), _shares(p, np.broadcast_to(p.kappa, (p.shape[0], *p.kappa.shape)))
    build_s = solve_s = build_cpu_s = solve_cpu_s = 0.0
    less = np.where(total > 0, 0.0, p.growth)
    guarded = guard(p.load, p.xi[None] * p.traffic[:, :, None])
    basis: Basis | None = None
    rounds, settled, outlasts = 0, False, False
    while not (settled and outlasts) and rounds < ROUNDS_MAX:
        rounds += 1
        began, began_cpu = time.perf_counter(), time.process_time()
        joint = build_model(p, total, share, less, guarded)
        built, built_cpu = time.perf_counter(), time.process_time()
        chosen: Method = method or ("simplex" if len(joint.model.row_lower) <= SIMPLEX_ROWS_MAX else "ipm")
        try:
            solution = solve_lp(joint.model, chosen, limits, vertex=True, start=basis, cancelled=cancelled)
        except SolverError as refused:
            raise UnsolvedError(_too_far_apart(str(refused))) from refused
        build_s, solve_s = build_s + built - began, solve_s + solution.solve_s
        build_cpu_s, solve_cpu_s = build_cpu_s + built_cpu - began_cpu, solve_cpu_s + time.process_time() - built_cpu
        if solution.infeasible:
            raise NoPlanError(joint)
        if solution.limited:
            raise StoppedError(f"stopped without a plan ({solution.status})")
        if solution.x is None or not solution.optimal:
            raise UnsolvedError(_too_far_apart(solution.status))
        settled, capacity, withheld = _is_settled(p, joint, solution.x)
        plan = extract_plan(p, inputs, joint, solution.x, exact=not settled)
        outlasts = _outlasts_losses(p, plan)
        total, share, less = p.own(capacity).sum(2), _shares(p, capacity), np.where(total > 0, withheld, p.growth)
        before, guarded = guarded, guard(p.load, plan.traffic, guarded)
        if solution.basis is not None:
            basis = solution.basis.extended(len(guarded.losses) - len(before.losses))
    return Solved(
        plan=plan,
        joint=joint,
        solution=solution,
        rounds=rounds,
        settled=settled and outlasts,
        build_s=build_s,
        solve_s=solve_s,
        build_cpu_s=build_cpu_s,
        solve_cpu_s=solve_cpu_s,
    )


def _too_far_apart(status: str) -> str:
    return (
        f"The solver found no plan ({status}). Some amounts of the inputs are too far apart for it: "
        "look for one in another unit, in supply, growth, traffic_growth, ledger, load_tests or policy."
    )


def extract_plan(
    p: JointProblem, inputs: PlanningInputs, joint: JointModel, x: Floats, *, exact: bool = False
) -> PlacementPlan:
    """Return the placement plan for the values `x` of the program's columns. Compute all dependent quantities from `x`.

    exact   True: growth is in proportion to the capacity in `x`; False: growth is that of the program's growth terms
    """
    traffic, capacity, withheld = _placed(p, joint, x)
    residual = p.own(capacity) - np.einsum("sp,tpr->tsr", p.phi, traffic)
    growth = _exact_growth(p, capacity, withheld) if exact else _counted_growth(p, joint.growth, capacity, withheld)
    asked = np.where(p.growth > 0, p.growth, 1.0)
    before = np.concatenate([p.kappa[None], capacity[:-1]])
    added, freed = np.maximum(capacity - before, 0.0), np.maximum(before - capacity, 0.0)
    late = max(p.policy.executed_upsize_share - 1, 0.0) * added + max(1 - p.policy.executed_downsize_share, 0.0) * freed
    left = p.supply - p.pooled(capacity + growth + late)
    deficit = np.maximum(np.maximum(x[joint.columns.d], 0.0), -left)
    return PlacementPlan(
        step=inputs.step,
        traffic=traffic,
        capacity=capacity,
        growth=growth,
        residual=residual,
        granted=1.0 - withheld / asked,
        deficit=deficit,
        spare=left + deficit,
        double_occupancy=p.pooled(freed),
    )


def _placed(p: JointProblem, joint: JointModel, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return traffic (T, P, R), capacity (T, K, R) and withheld growth (T, S) for the values `x` of the program's
    columns.
    """
    v = joint.columns
    T, _, R, _, S, K = p.shape
    traffic = np.maximum(x[v.x], 0.0)
    residual = x[v.r_up].copy()
    residual.ravel()[v.r_down_cell] -= x[v.r_down]
    capacity = np.zeros((T, K, R))
    capacity[:, :S] = np.maximum(np.einsum("sp,tpr->tsr", p.phi, traffic) + residual, 0.0)
    capacity[:, v.chosen] = np.maximum(x[v.c], 0.0)
    withheld = np.zeros(T * S)
    withheld[v.withheld_of] = x[v.withheld]
    return traffic, capacity, withheld.reshape(T, S)


def _is_settled(p: JointProblem, joint: JointModel, x: Floats) -> tuple[bool, Floats, Floats]:
    """Return whether the growth in `x` follows the capacity in `x`, and then this capacity and the withheld growth."""
    _, capacity, withheld = _placed(p, joint, x)
    grows = p.growth > 0
    total, taken = p.own(capacity).sum(2)[grows], joint.growth.total[grows]
    per_asked = p.ratio[:, None] / np.where(grows, p.growth, 1.0)[:, p.service, None]
    off = _counted_growth(p, joint.growth, capacity, withheld) - _exact_growth(p, capacity, withheld)
    granted = (1.0 - withheld / np.where(grows, p.growth, 1.0))[:, p.service, None]
    least = (joint.growth.at(capacity, withheld) * per_asked).min(initial=0.0)
    same = (np.abs(total - taken) <= TOTAL_SETTLED * np.maximum(total, taken)).all() and least >= -TOTAL_SETTLED
    return bool(same and (np.abs(off * per_asked) <= SETTLED * granted + NOISE).all()), capacity, withheld


def _outlasts_losses(p: JointProblem, plan: PlacementPlan) -> bool:
    """Return whether load-tested services have the capacity that the estimator asks for on this plan's traffic."""
    tested = p.load.any(1)
    needed = simulate_losses(p.load[tested], plan.traffic).needed
    return bool((p.own(plan.capacity)[:, tested] >= needed * (1 - OUTLASTS)).all())


def _expected_total(p: JointProblem) -> Floats:
    """Return the (T, S) expected capacity worldwide: the need of traffic plus kept residual, at least the baseline."""
    needed = p.traffic @ p.phi.T + np.where(p.keeps, p.rho.sum(2), 0.0)
    return np.asarray(np.maximum(needed, p.total_min))


def _exact_growth(p: JointProblem, capacity: Floats, withheld: Floats) -> Floats:
    """Return the (T, K, R) growth that each service's placements get in proportion to `capacity`."""
    return np.asarray(_shares(p, capacity) * (p.growth - withheld)[:, p.service, None] / p.ratio[:, None])


def _counted_growth(p: JointProblem, g: GrowthTerms, capacity: Floats, withheld: Floats) -> Floats:
    """Return the (T, K, R) growth of the program, scaled so that each service's sum is the growth granted."""
    counted = np.maximum(g.at(capacity, withheld), 0.0)
    given = p.own(counted).sum(2)
    scale = np.divide(p.growth - withheld, given, out=np.zeros_like(given), where=given > 0)
    return np.asarray(counted * scale[:, p.service, None])


def _shares(p: JointProblem, placed: Floats) -> Floats:
    """Return the (T, K, R) part of its service's worldwide capacity that each placement holds."""
    own = placed * p.ratio[:, None]
    total = p.own(placed).sum(2)[:, p.service][:, :, None]
    even = 1.0 / (placed.shape[2] * np.bincount(p.service)[p.service])[None, :, None]
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), even)
