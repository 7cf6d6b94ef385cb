"""`plimsoll flux traces|model|plan`: plan from files, without a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from libs.flux.report.review import review_of
from libs.flux.report.summary import plan_document
from libs.interchange.files.atomic import replacing
from libs.interchange.world.execution_plan import save_execution_plan
from libs.interchange.world.placement_plan import placement_plan_document, save_placement_plan
from libs.interchange.world.service_models import save_service_models
from services.cli.flux.disaster import print_disaster, write_disaster
from services.cli.flux.offline import Progress, failing, make_models, make_plan
from services.cli.flux.tables import model_document, print_models, print_plan
from services.cli.flux.traces import print_graph, read_graph
from services.cli.output import Output, OutputOption, print_json, stderr, stdout

WorldArgument = Annotated[
    Path,
    typer.Argument(metavar="WORLD_DIR", help="a world folder or replay bundle, docs/flux.md", exists=True),
]


def model(
    world: WorldArgument,
    out: Annotated[Path, typer.Option(help="the file for the models (JSON)")] = Path("model.json"),
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit the capacity that each service needs per product's traffic, with its error."""
    with failing(), _showing() as progress:
        made = make_models(world, progress)
        save_service_models(out, made.words, made.models)
    if output is Output.JSON:
        print_json(model_document(made))
    else:
        print_models(made)
        stdout.print(f"written to {out}", markup=False)


def plan(
    world: WorldArgument,
    model: Annotated[Path | None, typer.Option(help="earlier models; default: fit them first")] = None,
    out: Annotated[Path, typer.Option(help="the file for the plan (JSON)")] = Path("plan.json"),
    dag: Annotated[Path | None, typer.Option(help="write the actions of the first step to this file (JSON)")] = None,
    report: Annotated[Path | None, typer.Option(help="a folder for review: JSON and pictures")] = None,
    disaster: Annotated[
        Path | None, typer.Option(help="write the need of load-tested services after each loss to this file (JSON)")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan the place of capacity and traffic at each step, and the actions of the first.

    Exit status: 0 planned, even if hardware is missing (see the deficit); 1 error; 2 no plan is possible.
    """
    with failing(), _showing() as progress:
        made = make_plan(world, model, progress)
        save_placement_plan(out, placement_plan_document(made.words, made.models, made.inputs, made.solved.plan))
        if dag is not None:
            save_execution_plan(dag, made.execution)
        if report is not None:
            for name, content in review_of(made).items():
                with replacing(report / name) as stream:
                    stream.write(content.encode())
        if disaster is not None:
            write_disaster(disaster, made)
    if output is Output.JSON:
        print_json(plan_document(made))
    else:
        print_plan(made)
        print_disaster(made)
        written = ", ".join(str(path) for path in (out, dag, report, disaster) if path is not None)
        stdout.print(f"written to {written}", markup=False)


def traces(
    files: Annotated[list[Path], typer.Argument(help="trace files, in any format of docs/flux.md", exists=True)],
    entry: Annotated[list[str], typer.Option(metavar="SERVICE:OPERATION", help="an entry point; may be repeated")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show calls between services in trace files, and the entry points that cause them."""
    with failing():
        graph = read_graph(files, entry)
    if output is Output.JSON:
        print_json(graph)
    else:
        print_graph(graph)


@contextmanager
def _showing() -> Iterator[Progress]:
    """Show a progress bar for each trace file on a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    tasks: dict[Path, TaskID] = {}
    with Bar(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:

        def show(path: Path, done: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path.name, total=path.stat().st_size)
            bar.update(tasks[path], completed=done)

        yield show
