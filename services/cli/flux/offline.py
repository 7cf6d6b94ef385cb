"""Fit models from a world folder, and plan from models, without a service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from libs.domain.demand import Demand
from libs.domain.world import ServiceModels, Vocabulary
from libs.flux.attribution.attributor import Attributor
from libs.flux.models.cost_models import CostModelError
from libs.flux.models.service_models import fit_service_models
from libs.flux.planning import Planned, plan_world
from libs.flux.program.placement import NoPlanError, StoppedError, UnsolvedError
from libs.flux.what_if import WhatIfError
from libs.interchange.bundles.world import open_world
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.tables import Source, has_file
from libs.interchange.traces.intake import Intake, TooManyServicesError
from libs.interchange.traces.readers import read_traces, trace_files
from libs.interchange.world.demand import load_demand
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import load_cost_models, load_gateways, load_observations, load_vocabulary
from libs.interchange.world.service_models import load_service_models, read_service_models
from libs.plan_check.check import PlanRefusedError
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure

WINDOW_SPANS = 500_000
"""Spans read after the last span of a trace until the trace counts as complete."""
Progress = Callable[[Path, int], None]
"""A callback that takes a trace file and the number of bytes read from it so far."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Modelled:
    """The result of fitting: service models, counts of spans, and seconds by activity."""

    words: Vocabulary
    models: ServiceModels
    demand: Demand
    counts: dict[str, int]
    step_s: dict[str, float]


def make_models(world: Path, progress: Progress | None = None) -> Modelled:
    """Fit the services of a world from its measurements and its traces, or their sums. Raises InterchangeError."""
    began = time.perf_counter()
    source = open_world(world)
    words = load_vocabulary(source)
    demand, counts = _demand(world, source, words, progress)
    traced = time.perf_counter()
    seen = load_observations(source, words)
    loaded = time.perf_counter()
    models = fit_service_models(words, seen, demand, load_cost_models(source, words))
    done = time.perf_counter()
    return Modelled(
        words=words,
        models=models,
        demand=demand,
        counts=counts,
        step_s={"traces": traced - began, "measurements": loaded - traced, "fit": done - loaded},
    )


def make_plan(
    world: Path,
    model: Path | None = None,
    progress: Progress | None = None,
    *,
    made: ServiceModels | None = None,
) -> Planned:
    """Plan a world, and check the plan before returning it. The models come from the file `model` or from `made`;
    without both they are fitted now.

    Raises InterchangeError, NoPlanError, StoppedError, UnsolvedError, PlanRefusedError.
    """
    source = open_world(world)
    words = load_vocabulary(source)
    if made is None and model is not None:
        made = load_service_models(model, words)
    elif made is None and isinstance(source, Mapping) and has_file(source, "model.json"):
        # a bundle with too many measurements holds its models instead
        made = read_service_models(source, "model.json", words)
    elif made is None:
        made = make_models(world, progress).models
    return plan_world(words, made, load_planning_inputs(source, words))


@contextmanager
def failing() -> Iterator[None]:
    """End the command in words if the world is wrong, or has no plan."""
    try:
        yield
    except (NoPlanError, PlanRefusedError) as error:
        raise CliFailure(str(error), status=EXIT_NOT_POSSIBLE) from error
    except (
        *(InterchangeError, CostModelError, StoppedError, UnsolvedError, TooManyServicesError),
        *(WhatIfError, OSError),
    ) as error:
        raise CliFailure(str(error)) from error


def _demand(world: Path, source: Source, words: Vocabulary, progress: Progress | None) -> tuple[Demand, dict[str, int]]:
    """Return the demand from the traces, and the number of spans by outcome."""
    summed = load_demand(source, words)
    if summed is not None:
        counts = {"spans": int(summed.spans.sum()), "orphaned": int(summed.orphaned.sum())}
        return summed, {"late": 0, "duplicates": 0, "malformed": 0, **counts}
    intake = Intake(gateways=load_gateways(source).operations)
    found = Attributor(products=len(words.products), window=WINDOW_SPANS)
    for path in trace_files(world) if world.is_dir() else ():
        for spans in read_traces(path, intake, partial(progress, path) if progress is not None else None):
            found.add(spans, found.spans, len(intake.services))
    whole = found.finish(len(intake.services))
    return whole.of_services([intake.services.get(str(name), -1) for name in words.services]), {
        "spans": found.spans,
        "late": found.late,
        "orphaned": int(whole.orphaned.sum()),
        "duplicates": whole.duplicates,
        "malformed": intake.malformed,
    }
