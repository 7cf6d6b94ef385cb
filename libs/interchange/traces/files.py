"""Trace files of a folder, whatever their format, as batches of spans."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from libs.domain.spans import Spans
from libs.interchange.errors import InterchangeError, Problem
from libs.interchange.traces.intake import Intake, Rows
from libs.interchange.traces.otlp_json import add_otlp_json

BATCH_SPANS = 50_000
LINE_BYTES_MAX = 64 << 20
Reader = Callable[[BinaryIO, Intake], Iterator[Spans]]


def trace_files(folder: Path) -> list[Path]:
    """Files of a folder that hold traces, in order of name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.startswith("traces"))


def read_traces(path: Path, intake: Intake, progress: Callable[[int], None] | None = None) -> Iterator[Spans]:
    """Spans of one file in batches; `progress` hears how many bytes of it were read.

    Raises: InterchangeError, where the name tells no format or the file is damaged.
    """
    name = path.name.removesuffix(".gz")
    reader = next((read for suffix, read in READERS.items() if name.endswith(suffix)), None)
    if reader is None:
        known = ", ".join(f"*{suffix}" for suffix in READERS)
        raise InterchangeError(
            [Problem(path.name, None, None, f"is of no known format; known are {known}, each also with .gz")]
        )
    try:
        with path.open("rb") as raw:
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if path.name.endswith(".gz") else raw
            for spans in reader(stream, intake):
                yield spans
                if progress is not None:
                    progress(raw.tell())
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, InterchangeError):
            raise
        raise InterchangeError([Problem(path.name, None, None, f"cannot be read: {error}")]) from error


def _otlp_json_lines(stream: BinaryIO, intake: Intake) -> Iterator[Spans]:
    rows = Rows()
    while line := stream.readline(LINE_BYTES_MAX):
        if not line.isspace():
            add_otlp_json(line, intake, rows)
        if len(rows) >= BATCH_SPANS:
            yield rows.spans()
            rows = Rows()
    if len(rows):
        yield rows.spans()


READERS: dict[str, Reader] = {".jsonl": _otlp_json_lines}
"""By how a file's name ends."""
