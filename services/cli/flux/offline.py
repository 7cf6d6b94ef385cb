"""From a world folder to models and from models to plans, without any service."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from libs.domain.demand import Demand
from libs.domain.execution_plan import ExecutionPlan
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.flux.attributor import Attributor
from libs.flux.conflict import conflict_of
from libs.flux.execution import plan_execution
from libs.flux.placement import NoPlanError, Solved, plan_placement
from libs.flux.problem import JointProblem, joint_problem
from libs.flux.service_models import fit_service_models
from libs.interchange.planning_inputs import load_planning_inputs
from libs.interchange.service_models import load_service_models
from libs.interchange.traces.files import read_traces, trace_files
from libs.interchange.traces.intake import Intake
from libs.interchange.world import load_cost_models, load_gateways, load_observations, load_vocabulary
from libs.plan_check.check import require_clean
from libs.plan_check.execution import check_execution
from libs.plan_check.placement import check_placement

WINDOW_SPANS = 500_000
"""A trace of a file stays open until so many spans were read after its last."""
Progress = Callable[[Path, int], None]
"""A trace file and how many bytes of it were read."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Modelled:
    """Service models, and what the traces were like. Seconds by what took them."""

    words: Vocabulary
    models: ServiceModels
    demand: Demand
    counts: dict[str, int]
    step_s: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A checked plan with all that it rests on."""

    words: Vocabulary
    models: ServiceModels
    inputs: PlanningInputs
    problem: JointProblem
    solved: Solved
    execution: ExecutionPlan


def make_models(world: Path, progress: Progress | None = None) -> Modelled:
    """Read a world's traces and measurements and fit its services. Raises: InterchangeError."""
    began = time.perf_counter()
    words = load_vocabulary(world)
    intake = Intake(gateways=load_gateways(world).operations)
    found = Attributor(products=len(words.products), window=WINDOW_SPANS)
    for path in trace_files(world):
        for spans in read_traces(path, intake, partial(progress, path) if progress is not None else None):
            found.add(spans, found.spans, len(intake.services))
    whole = found.finish(len(intake.services))
    traced = time.perf_counter()
    seen = load_observations(world, words)
    loaded = time.perf_counter()
    demand = whole.of_services([intake.services.get(str(name), -1) for name in words.services])
    models = fit_service_models(words, seen, demand, load_cost_models(world, words))
    done = time.perf_counter()
    return Modelled(
        words=words,
        models=models,
        demand=demand,
        counts={
            "spans": found.spans,
            "late": found.late,
            "orphaned": int(whole.orphaned.sum()),
            "duplicates": whole.duplicates,
            "malformed": intake.malformed,
        },
        step_s={"traces": traced - began, "measurements": loaded - traced, "fit": done - loaded},
    )


def make_plan(
    world: Path,
    model: Path | None = None,
    progress: Progress | None = None,
    *,
    made: ServiceModels | None = None,
) -> Planned:
    """Plan a world by models read from a file, made before, or made now, and check the plan before anybody sees it.

    Raises: InterchangeError, NoPlanError, StoppedError, PlanRefusedError.
    """
    words = load_vocabulary(world)
    if made is None:
        made = load_service_models(model, words) if model is not None else make_models(world, progress).models
    models = made
    inputs = load_planning_inputs(world, words)
    problem = joint_problem(words, models, inputs)
    try:
        solved = plan_placement(problem, inputs)
    except NoPlanError as error:
        raise NoPlanError(error.joint, conflict_of(words, inputs, problem, error.joint)) from error
    require_clean(check_placement(words, models, inputs, solved.plan))
    execution = plan_execution(words, models, inputs, solved.plan)
    require_clean(check_execution(execution, *_pools(words, problem, solved)))
    return Planned(words=words, models=models, inputs=inputs, problem=problem, solved=solved, execution=execution)


def _pools(
    words: Vocabulary, problem: JointProblem, solved: Solved
) -> tuple[dict[tuple[str | None, str | None], float], dict[tuple[str | None, str | None], float]]:
    """What each pool holds before the first step, and has room for: a deficit counts, it is what must be procured.

    A pool that is overfull already has room for what is there.
    """
    used = problem.pooled(problem.kappa)
    room = np.maximum(problem.supply[0] + solved.plan.deficit[0], used)
    places = [(h, r, (str(words.regions[r]), str(words.hardware_types[h]))) for h, r in np.ndindex(*used.shape)]
    return {name: float(used[h, r]) for h, r, name in places}, {name: float(room[h, r]) for h, r, name in places}
