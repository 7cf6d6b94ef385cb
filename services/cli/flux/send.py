"""`plimsoll flux send`: files of traces, use and traffic to the service."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.client import ApiProblem, Client, Json
from services.cli.failure import CliFailure
from services.cli.moments import moment
from services.cli.output import Output, OutputOption, print_json, say

SEND_S_MAX = 600.0
PATIENCE_S_MAX = 600.0
"""For so long a file is offered to an intake that is full."""
_MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


class Kind(StrEnum):
    """What a file holds."""

    TRACES = "traces"
    USAGE = "usage"
    TRAFFIC = "traffic"


def send(
    files: Annotated[
        list[Path], typer.Argument(help="traces*, usage*, traffic* as docs/flux.md has them", exists=True)
    ],
    kind: Annotated[Kind | None, typer.Option("--as", help="what they hold, where their names do not say")] = None,
    minute_zero: Annotated[
        str | None, typer.Option(help="when minute 0 of use and traffic was, in UTC, such as 2026-11-02")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="have tables judged, and keep nothing")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send files of spans, use and traffic to the platform. A file is taken whole or not at all."""
    kinds = {file: kind or _kind_of(file) for file in files}
    if dry_run and Kind.TRACES in kinds.values():
        raise CliFailure("--dry-run judges tables of use and traffic; for traces, see `plimsoll flux traces`")
    zero = moment("--minute-zero", minute_zero)
    answers = {}
    with closing(Client.connect()) as client:
        for file, what in kinds.items():
            answers[file] = _send(client, file, what, zero, dry_run)
            if output is Output.TABLE:
                say(f"{file}: {_told(answers[file])}")
    if output is Output.JSON:
        print_json([{"file": str(file), "kind": kinds[file], **answer} for file, answer in answers.items()])


def _kind_of(file: Path) -> Kind:
    found = next((kind for kind in Kind if file.name.startswith(kind)), None)
    if found is None:
        raise CliFailure(f"{file}: say what it holds with --as {'|'.join(Kind)}")
    return found


def _patiently(file: Path, send_once: Callable[[], Json]) -> Json:
    """An intake that is full empties as spans are summed: wait for it, beyond what the client does by itself."""
    deadline = time.monotonic() + PATIENCE_S_MAX
    while True:
        try:
            return send_once()
        except ApiProblem as problem:
            if problem.code != "rate_limited" or time.monotonic() > deadline:
                raise CliFailure(f"{file}: {problem}") from problem


def _send(client: Client, file: Path, kind: Kind, zero: str | None, dry_run: bool) -> Json:
    content = file.read_bytes()
    if kind is Kind.TRACES:
        files = {"file": (file.name, content)}
        return _patiently(file, lambda: client.post("/v1/trace-files", files=files, timeout_s=SEND_S_MAX))
    media = _MEDIA.get(file.suffix)
    if media is None:
        raise CliFailure(f"{file}: is neither {' nor '.join(_MEDIA)}")
    path, judged = f"/v1/{kind}", dry_run or None
    return _patiently(
        file, lambda: client.post_content(path, content, media, timeout_s=SEND_S_MAX, minute_zero=zero, dry_run=judged)
    )


def _told(answer: Json) -> str:
    if "spans" in answer:
        return f"{answer['spans']:,} spans wait to be summed, {answer['rejected']:,} were none"
    ends = f", {answer['first_minute_at']} to {answer['last_minute_at']}" if answer["samples"] else ""
    return f"{answer['samples']:,} samples of {answer['series']:,} series{ends}"
