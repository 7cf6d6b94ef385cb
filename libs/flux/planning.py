"""From models and inputs to a plan that may be shown: solved, checked, and with how it is carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from libs.domain.execution_plan import ExecutionPlan
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.conflict import conflict_of
from libs.flux.execution import plan_execution
from libs.flux.placement import NoPlanError, Solved, plan_placement
from libs.flux.problem import JointProblem, joint_problem
from libs.mip.highs import Cancelled, Limits
from libs.plan_check.check import require_clean
from libs.plan_check.execution import check_execution
from libs.plan_check.placement import check_placement

Pools = dict[tuple[str | None, str | None], float]
"""(region, hardware type) -> capacity."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A checked plan with all that it rests on."""

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
    """Plan, and check the plan and how it is carried out before anybody sees either. entering: told of each phase.

    Raises: NoPlanError, StoppedError, PlanRefusedError.
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
    require_clean(check_execution(execution, *_pools(words, problem, solved)))
    return Planned(words=words, models=models, inputs=inputs, problem=problem, solved=solved, execution=execution)


def _pools(words: Vocabulary, problem: JointProblem, solved: Solved) -> tuple[Pools, Pools]:
    """What each pool holds before the first step, and has room for: a deficit counts, it is what must be procured.

    A pool that is overfull already has room for what is there.
    """
    used = problem.pooled(problem.kappa)
    room = np.maximum(problem.supply[0] + solved.plan.deficit[0], used)
    places = [(h, r, (str(words.regions[r]), str(words.hardware_types[h]))) for h, r in np.ndindex(*used.shape)]
    return {name: float(used[h, r]) for h, r, name in places}, {name: float(room[h, r]) for h, r, name in places}
