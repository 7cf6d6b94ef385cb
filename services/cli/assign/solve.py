"""`plimsoll assign solve`: solve a replay file of the assignment library with any solver, without a service."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from libs.assignment import Limits, Listener, ModelError, Objective, Progress, Replay, Result, load_replay
from libs.domain.seed import SEED_MAX
from libs.interchange.files.atomic import replacing
from services.cli.durations import seconds_from
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, percent, plural, print_json, print_rows, say, stderr
from services.cli.written_files import require_files


def solve(
    file: Annotated[Path, typer.Argument(help="A replay file (.npz) that save_replay has written.")],
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="auto, local, mip, partitioned, portfolio or price. With another solver than the file's, limits of "
            "work have their defaults.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(parser=seconds_from(0.001), metavar="SECONDS", help="Keep the best answer found by then."),
    ] = None,
    objective: Annotated[
        Objective | None, typer.Option(help="Rank goals by priority, or add them up. Default: the file's.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=SEED_MAX,
            help="The same file, limits and seed give the same answer unless the time limit is hit.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the container of each object to this file: .parquet, or .json with all numbers."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Solve a problem from a replay file and show the value of each constraint and goal.

    Exit status: 0 solved, even with broken constraints (the table names them); 1 error.
    """
    if out is not None and out.suffix not in (".parquet", ".json"):
        raise CliFailure(f"--out {out}: expected a name that ends in .parquet or .json")
    require_files({"--out": out})
    try:
        replay = _changed(load_replay(file), solver, time_limit, objective, seed)
        with _showing(stderr) as heard:
            result = replay.solve(progress=heard)
        if out is not None:
            _write(result, out)
    except (ModelError, OSError) as error:
        raise CliFailure(str(error)) from error
    if output is Output.JSON:
        print_json(result.to_dict())
        return
    _print(result)
    if out is not None:
        say(f"written to {out}")


def _changed(
    replay: Replay, solver: str | None, time_limit: float | None, objective: Objective | None, seed: int | None
) -> Replay:
    """Return the call in the file, changed by the options of the command line."""
    if solver is not None and solver != replay.solver:
        time_s = None if replay.limits is None else replay.limits.time_s_max
        replay = replace(replay, solver=solver, limits=Limits(time_s_max=time_s), options={})
    if time_limit is not None:
        replay = replace(replay, limits=replace(replay.limits or Limits(), time_s_max=time_limit))
    if objective is not None:
        replay = replace(replay, objective=objective)
    return replay if seed is None else replace(replay, seed=seed)


@contextmanager
def _showing(console: Console) -> Iterator[Listener | None]:
    """Show the present level, value and bound on a terminal."""
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description:<11}"), TextColumn("{task.fields[state]}"))
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("compile", total=None, state="")

        def show(heard: Progress) -> None:
            level = "broken" if heard.level == 0 else f"priority {heard.level - 1}"
            bound = f", at least {heard.bound:,.6g}" if math.isfinite(heard.bound) else ""
            bar.update(task, description=level, state=f"{heard.value:,.6g}{bound}")

        yield show


def _write(result: Result, out: Path) -> None:
    problem = result.problem
    names = [problem.objects.name(k) for k in range(len(problem.objects))]
    containers = [problem.containers.name(int(k)) for k in result.assignment]
    with replacing(out) as stream:
        if out.suffix == ".parquet":
            pq.write_table(pa.table({"object": names, "container": containers}), stream)
        else:
            document = result.to_dict() | {"assignment": dict(zip(names, containers, strict=True))}
            stream.write((json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def _print(result: Result) -> None:
    """Print the result for people."""
    problem = result.problem
    objects, containers = len(problem.objects), len(problem.containers)
    say(f"{plural(objects, 'object')}, {plural(containers, 'container')}; solved by {result.solver}")
    columns = ("name", "kind", "priority", "weight", "before", "after", "broken")
    print_rows(result.by_spec().to_pylist(), {name: name for name in columns})
    gap = f"; at most {percent(result.gap)} from the best possible" if 0 < result.gap < math.inf else ""
    say(f"{result.in_words()}{gap}; {result.solve_s:.1f} s")
