"""Compute a plan from models and inputs: solve it, check it, and derive its execution plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.execution_plan import ExecutionPlan, PoolRoom
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.execution.plan import plan_execution
from libs.flux.program.conflict import conflict_of
from libs.flux.program.placement import NoPlanError, Solved, plan_placement
from libs.flux.program.problem import JointProblem, joint_problem
from libs.mip.highs import Cancelled, Limits
from libs.plan_check.check import require_clean
from libs.plan_check.execution import check_execution
from libs.plan_check.placement import check_placement

Pools = dict[tuple[str | None, str | None], float]
"""Capacity of each pool: (region, hardware type) -> capacity."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A checked plan, with the inputs, the problem and the solution behind it."""

    words: Vocabulary
    models: ServiceModels
    inputs: PlanningInputs
    problem: JointProblem
    solved: Solved
    execution: ExecutionPlan


def plan_world(
    words: Vocabulary,
    models: ServiceModels,
    inputs: PlanningInputs,
    *,
    limits: Limits | None = None,
    cancelled: Cancelled | None = None,
    entering: Callable[[str], None] = lambda phase: None,
) -> Planned:
    """Return a plan and its execution plan. Both have passed their checks. `entering` is called with the name of each
    phase as it begins.

    Raises NoPlanError, StoppedError, UnsolvedError or PlanRefusedError.
    """
    entering("solve")
    problem = joint_problem(words, models, inputs)
    try:
        solved = plan_placement(problem, inputs, limits=limits, cancelled=cancelled)
    except NoPlanError as error:
        raise NoPlanError(error.joint, conflict_of(words, inputs, problem, error.joint)) from error
    entering("check")
    require_clean(check_placement(words, models, inputs, solved.plan))
    execution = plan_execution(words, models, inputs, solved.plan)
    used, room = _pools(words, problem, solved, models.present_capacity(inputs))
    require_clean(check_execution(execution, used, room))
    pools = tuple(PoolRoom(region=str(r), hardware_type=str(h), used=used[r, h], room=room[r, h]) for r, h in used)
    execution = replace(execution, pools=pools)
    return Planned(words=words, models=models, inputs=inputs, problem=problem, solved=solved, execution=execution)


def _pools(words: Vocabulary, problem: JointProblem, solved: Solved, present: Floats) -> tuple[Pools, Pools]:
    """Return the capacity that each pool has given out before the first step, and the room of each pool.

    present   (K, R) capacity from which resizes start

    A deficit counts as room, because it must be procured. An overfull pool has room for all that it holds.
    """
    used = problem.pooled(present)
    room = np.maximum(problem.supply[0] + solved.plan.deficit[0], used)
    places = [(h, r, (str(words.regions[r]), str(words.hardware_types[h]))) for h, r in np.ndindex(*used.shape)]
    return {name: float(used[h, r]) for h, r, name in places}, {name: float(room[h, r]) for h, r, name in places}
