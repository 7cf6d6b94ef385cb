"""`plimsoll flux inputs`: show and put the planner's inputs, as tables in versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from libs.interchange.planning_inputs.tables import INPUT_TABLES
from services.cli.client import ApiProblem, Client, Json
from services.cli.failure import CliFailure
from services.cli.moments import moment
from services.cli.output import Output, OutputOption, note, print_document, print_json, print_rows, say

inputs = typer.Typer(
    help="Show and put the inputs of plans: supply, growth, controls and others, in versions.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet", ".json": "application/json"}
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help=f"one of {', '.join(INPUT_TABLES)}")]


@inputs.command("get")
def get(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="default: all of them, without rows")] = None,
    version: Annotated[int | None, typer.Option(min=0, help="default: the latest")] = None,
    out: Annotated[Path | None, typer.Option(help="write the rows to this file: .csv, .parquet or .json")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show all inputs, or the rows of one."""
    client = Client.connect()
    if name is None:
        found: Any = client.get("/v1/planning-inputs")
        columns = {"INPUT": "name", "VERSION": "version", "ROWS": "rows", "BY": "created_by", "AT": "created_at"}
        print_json(found) if output is Output.JSON else print_rows(found, columns)
        return
    if out is not None:
        content = client.download(_path(name), accept=_media(out), version=version)
        if out.suffix == ".json":
            content = (json.dumps({"rows": json.loads(content)["items"]}, indent=1) + "\n").encode()
        out.write_bytes(content)
        say(f"written to {out}")
        return
    table = client.get(_path(name), version=version)
    if output is Output.JSON:
        print_json(table)
        return
    headings = list(dict.fromkeys(field for row in table["items"] for field in row))
    print_rows(table["items"], {field.upper(): field for field in headings})
    note(f"{name}, version {table['version']}, {table['rows']} rows")


@inputs.command("put")
def put(
    source: Annotated[Path, typer.Argument(help="a file named for the input, or a world folder of them", exists=True)],
    name: Annotated[str | None, typer.Option(help="the input; default: from the file's name")] = None,
    comment: Annotated[str | None, typer.Option(help="why; kept with the version")] = None,
    minute_zero: Annotated[
        str | None,
        typer.Option(help="when minute 0 was, in UTC, such as 2026-11-02; for start_minute and end_minute of events"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check and compare without storing")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put the next version of an input, or of every input in a folder."""
    client = Client.connect()
    files = _files_of(source) if source.is_dir() else {name or source.stem: source}
    zero = moment("--minute-zero", minute_zero)
    answers: list[Json] = []
    for one, path in files.items():
        content, media = _content(path)
        at = client.get(_path(one))["version"]
        try:
            answer = client.put_content(
                _path(one), content, media, generation=at, comment=comment, minute_zero=zero, dry_run=dry_run or None
            )
        except ApiProblem as problem:
            raise CliFailure(f"{path}: {problem}{_told_of(answers, dry_run)}", status=problem.status) from problem
        answers.append(answer)
    if output is Output.JSON:
        print_json(answers if source.is_dir() else answers[0])
        return
    columns = {"INPUT": "name", "VERSION": "version", "ROWS": "rows"}
    counts = {change.upper(): f"counts.{change}" for change in ("added", "removed", "changed")}
    print_rows(answers, columns | counts)
    for warning in answers[-1]["warnings"] if answers else ():  # of all inputs, as of the last put
        note(f"warning: {warning}")


@inputs.command("history")
def history(name: NameArgument, output: OutputOption = Output.TABLE) -> None:
    """Show the versions of an input with author, time and reason, latest first."""
    found = list(Client.connect().items(f"{_path(name)}/versions"))
    columns = {"VERSION": "version", "ROWS": "rows", "BY": "created_by", "AT": "created_at", "WHY": "comment"}
    print_json(found) if output is Output.JSON else print_rows(found, columns)


@inputs.command("diff")
def diff(
    name: NameArgument,
    before: Annotated[int | None, typer.Option("--from", min=0, help="default: the version before")] = None,
    after: Annotated[int | None, typer.Option("--to", min=0, help="default: the latest")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the difference between two versions, row by row."""
    found = Client.connect().get(f"{_path(name)}/diff", from_version=before, to_version=after)
    if output is Output.JSON:
        print_json(found)
        return
    say(f"{name}: version {found['from_version']} to {found['to_version']}")
    print_document({"rows": found["counts"], "differences": found["items"]})


def _files_of(folder: Path) -> dict[str, Path]:
    """Return the input files of a folder, in an order in which each may depend on earlier ones."""
    found = {}
    for name in INPUT_TABLES:
        paths = [folder / f"{name}{ending}" for ending in (".parquet", ".csv", ".json")]
        there = [path for path in paths if path.exists()]
        if there:
            found[name] = there[0]
    if not found:
        raise CliFailure(f"{folder} has none of {', '.join(INPUT_TABLES)}")
    return found


def _told_of(put: list[Json], dry_run: bool) -> str:
    """Return a note about the inputs of a folder that were put before a later one was refused."""
    if not put or dry_run:
        return ""
    return f"\n{', '.join(one['name'] for one in put)} are put; put the folder again after you correct this"


def _content(path: Path) -> tuple[bytes, str]:
    media = _media(path)
    content = path.read_bytes()
    if media != MEDIA[".json"]:
        return content, media
    try:
        document: Json | list[Json] = json.loads(content)
    except ValueError as error:
        raise CliFailure(f"{path} is not JSON: {error}") from error
    if isinstance(document, list):
        document = {"rows": document}
    elif "rows" not in document:  # policy.json of a world: one row
        document = {"rows": [document]}
    return json.dumps(document).encode(), media


def _media(path: Path) -> str:
    if path.suffix not in MEDIA:
        raise CliFailure(f"{path}: the name has to end in {', '.join(MEDIA)}")
    return MEDIA[path.suffix]


def _path(name: str) -> str:
    if name not in INPUT_TABLES:
        raise CliFailure(f"there is no planning input {name}; there are {', '.join(INPUT_TABLES)}")
    return f"/v1/planning-inputs/{name}"
