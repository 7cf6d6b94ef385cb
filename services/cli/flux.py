"""`plimsoll flux`: service models from traces and use, and the plan for capacity and traffic, from files alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from libs.domain.world import ServiceModels, Vocabulary
from libs.flux.attributor import Attributor
from libs.flux.demand import Demand
from libs.flux.placement import NoPlanError, Solved, StoppedError, plan_placement
from libs.flux.problem import joint_problem
from libs.flux.service_models import fit_service_models
from libs.interchange.errors import InterchangeError
from libs.interchange.placement_plan import placement_plan_document, save_placement_plan
from libs.interchange.planning_inputs import load_planning_inputs
from libs.interchange.service_models import load_service_models, save_service_models
from libs.interchange.traces.files import read_traces, trace_files
from libs.interchange.traces.intake import Intake
from libs.interchange.world import load_gateways, load_observations, load_vocabulary
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure
from services.cli.output import Output, OutputOption, percent, print_json, print_rows, stderr, stdout

app = typer.Typer(
    help="Plan capacity and traffic over regions, from a folder of traces, use and supply.", no_args_is_help=True
)
WorldArgument = Annotated[Path, typer.Argument(metavar="WORLD_DIR", help="a world folder, docs/flux.md", exists=True)]
WINDOW_SPANS = 500_000
"""A trace of a file stays open until so many spans were read after its last."""
SHOWN_MAX = 10


@app.command()
def model(
    world: WorldArgument,
    out: Annotated[Path, typer.Option(help="where the models are written (JSON)")] = Path("model.json"),
    output: OutputOption = Output.TABLE,
) -> None:
    """Find out what each service needs for each product's traffic, and how far to trust that."""
    try:
        words, models, counts = make_models(world)
        save_service_models(out, words, models)
    except (InterchangeError, OSError) as error:
        raise CliFailure(str(error)) from error
    if output is Output.JSON:
        print_json(_model_document(words, models, counts))
    else:
        _print_models(words, models, counts)
        stdout.print(f"written to {out}", markup=False)


@app.command()
def plan(
    world: WorldArgument,
    model: Annotated[Path | None, typer.Option(help="models made before; left out: they are made first")] = None,
    out: Annotated[Path, typer.Option(help="where the plan is written (JSON)")] = Path("plan.json"),
    output: OutputOption = Output.TABLE,
) -> None:
    """Say where capacity and traffic should be at each step, and how to get to the first.

    Exit status: 0 planned, also where hardware is missing (the deficit says how much); 1 error; 2 no plan is possible.
    """
    try:
        words = load_vocabulary(world)
        models = load_service_models(model, words) if model is not None else make_models(world)[1]
        inputs = load_planning_inputs(world, words)
        problem = joint_problem(words, models, inputs)
        with stderr.status("solving"):
            solved = plan_placement(problem, inputs)
        save_placement_plan(out, placement_plan_document(words, models.modelled, solved.plan))
    except NoPlanError as error:
        raise CliFailure(str(error), status=EXIT_NOT_POSSIBLE) from error
    except (InterchangeError, StoppedError, OSError) as error:
        raise CliFailure(str(error)) from error
    document = _plan_document(solved)
    if output is Output.JSON:
        print_json(document)
    else:
        print_rows([document], {key: key for key in document})
        stdout.print(f"written to {out}", markup=False)


def make_models(world: Path) -> tuple[Vocabulary, ServiceModels, dict[str, Any]]:
    """Read a world's traces and measurements and fit its services; shows progress on a terminal."""
    words = load_vocabulary(world)
    gateways = load_gateways(world)
    intake = Intake(gateways=gateways.operations)
    found = Attributor(products=len(words.products), window=WINDOW_SPANS)
    demand = _read_all(world, intake, found)
    with stderr.status("fitting"):
        seen = load_observations(world, words)
        rows = [intake.services.get(str(name), -1) for name in words.services]
        models = fit_service_models(words, seen, demand.of_services(rows))
    counts = {
        "spans": found.spans,
        "late": found.late,
        "orphaned": int(demand.orphaned.sum()),
        "duplicates": demand.duplicates,
        "malformed": intake.malformed,
    }
    return words, models, counts


def _read_all(world: Path, intake: Intake, found: Attributor) -> Demand:
    files = trace_files(world)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        for path in files:
            task = bar.add_task(path.name, total=path.stat().st_size)
            for spans in read_traces(path, intake, partial(_show, bar, task)):
                found.add(spans, found.spans, len(intake.services))
    return found.finish(len(intake.services))


def _show(bar: Progress, task: TaskID, done: int) -> None:
    bar.update(task, completed=done)


def _model_document(words: Vocabulary, models: ServiceModels, counts: dict[str, Any]) -> dict[str, Any]:
    low = [s for s in np.flatnonzero(models.modelled) if models.reasons[s]]
    return {
        "services": int(models.modelled.sum()),
        "metrics": {m: int((models.metric[models.modelled] == m).sum()) for m in ("cpu", "calls", "self_time")},
        "error_mean": float(models.error[models.modelled].mean()),
        "low_confidence": {str(words.services[s]): list(models.reasons[s]) for s in low},
        **counts,
    }


def _print_models(words: Vocabulary, models: ServiceModels, counts: dict[str, Any]) -> None:
    known = np.flatnonzero(models.modelled)
    largest = known[np.argsort(-models.capacity[known])][:SHOWN_MAX]
    rows = [
        {
            "SERVICE": words.services[s],
            "TYPE": words.hardware_types[words.service_type[s]],
            "CAPACITY": float(models.capacity[s]),
            "METRIC": models.metric[s],
            "ERROR": percent(models.error[s]),
            "CONFIDENCE": ", ".join(models.reasons[s]) or "high",
            "PRODUCTS": "  ".join(
                f"{words.products[p]} {models.attribution[s, p]:.0%}"
                for p in np.argsort(-models.attribution[s])[:3]
                if models.attribution[s, p] >= 0.005
            ),
        }
        for s in largest
    ]
    stdout.print(f"the largest {len(rows)} of {len(known)} services", highlight=False)
    print_rows(rows, {heading: heading for heading in rows[0]} if rows else {}, right=("CAPACITY", "ERROR"))
    stdout.print(", ".join(f"{count:,} {name}" for name, count in counts.items()), highlight=False)
    low = sum(bool(models.reasons[s]) for s in known)
    if low:
        stdout.print(f"{low} of {len(known)} services have low confidence; {'model.json'} says why", highlight=False)


def _plan_document(solved: Solved) -> dict[str, Any]:
    rows, columns = solved.joint.model.matrix.shape
    return {
        "objective": solved.solution.objective,
        "rounds": solved.rounds,
        "settled": solved.settled,
        "deficit": float(solved.plan.deficit.sum()),
        "rows": rows,
        "columns": columns,
        "build_s": solved.build_s,
        "solve_s": solved.solve_s,
    }
