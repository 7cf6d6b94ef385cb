"""`plimsoll flux send`: send files of traces, usage and traffic to the service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from services.cli.client import ApiProblem, Client, Json
from services.cli.failure import CliFailure
from services.cli.flux.parts import span_parts, table_parts
from services.cli.moments import moment
from services.cli.output import Output, OutputOption, print_json, say

SEND_S_MAX = 600.0
PATIENCE_S_MAX = 600.0
"""Most seconds of retries while the intake is full."""
_MEDIA = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


class Kind(StrEnum):
    """The kinds of files."""

    TRACES = "traces"
    USAGE = "usage"
    TRAFFIC = "traffic"


def send(
    files: Annotated[list[Path], typer.Argument(help="traces*, usage*, traffic* as in docs/flux.md", exists=True)],
    kind: Annotated[Kind | None, typer.Option("--as", help="their content, if the names do not tell")] = None,
    minute_zero: Annotated[
        str | None, typer.Option(help="the moment of minute 0 of usage and traffic, in UTC, such as 2026-11-02")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check tables without storing them")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send files of spans, usage and traffic to the platform.

    Each file, or each part of a large file, is stored whole or not at all.
    """
    kinds = {file: kind or _kind_of(file) for file in files}
    if dry_run and Kind.TRACES in kinds.values():
        raise CliFailure("--dry-run checks tables of usage and traffic; for traces, see `plimsoll flux traces`")
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
        raise CliFailure(f"{file}: name its content with --as {'|'.join(Kind)}")
    return found


def _patiently(file: Path, send_once: Callable[[], Json]) -> Json:
    """Send, and retry while the intake is full, for longer than the client does. The intake empties as spans are
    summed.
    """
    deadline = time.monotonic() + PATIENCE_S_MAX
    while True:
        try:
            return send_once()
        except ApiProblem as problem:
            if problem.code != "rate_limited" or time.monotonic() > deadline:
                raise CliFailure(f"{file}: {problem}") from problem


def _send(client: Client, file: Path, kind: Kind, zero: str | None, dry_run: bool) -> Json:
    answers: list[Json] = []
    try:
        for answer in _sent_parts(client, file, kind, zero, dry_run):
            answers.append(answer)
    except CliFailure as failure:
        if answers:
            raise CliFailure(f"{failure}\n{file} was sent in parts; the first {len(answers)} were stored") from failure
        raise
    return _summed(answers)


def _sent_parts(client: Client, file: Path, kind: Kind, zero: str | None, dry_run: bool) -> Iterator[Json]:
    if kind is Kind.TRACES:
        for part in span_parts(file):
            yield _patiently(file, partial(client.post, "/v1/trace-files", files={"file": part}, timeout_s=SEND_S_MAX))
        return
    media = _MEDIA.get(file.suffix)
    if media is None:
        raise CliFailure(f"{file}: is neither {' nor '.join(_MEDIA)}")
    path, query = f"/v1/{kind}", {"minute_zero": zero, "dry_run": dry_run or None}
    for content in table_parts(file):
        post = partial(client.post_content, path, content, media, timeout_s=SEND_S_MAX, **query)
        yield _patiently(file, post)


def _summed(answers: list[Json]) -> Json:
    """Combine the answers for the parts of a file. Parts may share series, so take the largest number of series."""
    if len(answers) == 1:
        return answers[0]
    if "spans" in answers[0]:
        return {name: sum(answer[name] for answer in answers) for name in ("spans", "rejected")}
    first, last = (
        [answer[name] for answer in answers if answer[name]] for name in ("first_minute_at", "last_minute_at")
    )
    return {
        "samples": sum(answer["samples"] for answer in answers),
        "series": max(answer["series"] for answer in answers),
        "first_minute_at": min(first, default=None),
        "last_minute_at": max(last, default=None),
    }


def _told(answer: Json) -> str:
    if "spans" in answer:
        return f"{answer['spans']:,} spans wait to be summed, {answer['rejected']:,} were invalid"
    ends = f", {answer['first_minute_at']} to {answer['last_minute_at']}" if answer["samples"] else ""
    return f"{answer['samples']:,} samples of {answer['series']:,} series{ends}"
