"""Read the trace files of a folder, in any known format, as batches of spans."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from libs.domain.spans import Spans
from libs.interchange.files.decoded import held, json_bytes, read_json
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.files.gunzip import Unpacking
from libs.interchange.traces.intake import Intake, Rows
from libs.interchange.traces.jaeger import add_jaeger
from libs.interchange.traces.otlp_json import OTLP_JSON
from libs.interchange.traces.otlp_proto import OTLP_PROTO, messages
from libs.interchange.traces.otlp_wire import decoded_bytes
from libs.interchange.traces.span_csv import read_span_csv
from libs.interchange.traces.zipkin import add_zipkin

BATCH_SPANS = 50_000
_UNPACKED_BYTES = 1 << 18
LINE_BYTES_MAX = 16 << 20
DOCUMENT_BYTES_MAX = 512 << 20
"""Largest size of a file that is one JSON document, because it is read as a whole."""
Reader = Callable[[BinaryIO, Intake], Iterator[Spans]]


def trace_files(folder: Path) -> list[Path]:
    """Return the trace files of a folder, sorted by name."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.startswith("traces"))


def read_traces(path: Path, intake: Intake, progress: Callable[[int], None] | None = None) -> Iterator[Spans]:
    """Yield the spans of one file in batches. `progress` is called with the number of bytes read so far.

    Raises InterchangeError if the format is unknown or the file is damaged, and TooManyServicesError.
    """
    try:
        with path.open("rb") as raw:
            for spans in read_trace_stream(raw, path.name, intake):
                yield spans
                if progress is not None:
                    progress(raw.tell())
    except OSError as error:
        raise _unreadable(path.name, error) from error


def read_trace_stream(
    raw: BinaryIO, file: str, intake: Intake, *, unpacked_bytes_max: float = math.inf
) -> Iterator[Spans]:
    """Yield the spans of an open file in batches. `unpacked_bytes_max` bounds the decompressed size of untrusted files.

    Raises InterchangeError if the format is unknown or the file is damaged, and TooManyServicesError.
    """
    reader = next((read for suffix, read in READERS.items() if file.removesuffix(".gz").endswith(suffix)), None)
    if reader is None:
        known = ", ".join(f"*{suffix}" for suffix in READERS)
        raise InterchangeError(
            [Problem(file, None, None, f"has no known format; known are {known}, each also with .gz")]
        )
    packed = file.endswith(".gz")
    stream = io.BufferedReader(Unpacking(raw, unpacked_bytes_max), _UNPACKED_BYTES) if packed else raw
    try:
        yield from reader(stream, intake)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: str, error: Exception) -> InterchangeError:
    return InterchangeError([Problem(file, None, None, f"cannot be read: {error}")])


def _batches(parts: Iterator[bytes], add: Callable[[bytes, Intake, Rows], None], intake: Intake) -> Iterator[Spans]:
    rows = Rows(intake)
    for part in parts:
        intake.look()
        add(part, intake, rows)
        if len(rows) >= BATCH_SPANS:
            yield rows.spans()
            rows = Rows(intake)
    if len(rows):
        yield rows.spans()


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; a line of spaces becomes empty."""
    while line := stream.readline(LINE_BYTES_MAX):
        yield b"" if line.isspace() else line


def _otlp_json(stream: BinaryIO, intake: Intake) -> Iterator[Spans]:
    def add(line: bytes, intake: Intake, rows: Rows) -> None:
        if line:
            with held(json_bytes(line)):
                OTLP_JSON.add_request(line, intake, rows)

    return _batches(_lines(stream), add, intake)


def _otlp_proto(stream: BinaryIO, intake: Intake) -> Iterator[Spans]:
    def add(message: bytes, intake: Intake, rows: Rows) -> None:
        if message:
            with held(decoded_bytes(message)):
                OTLP_PROTO.add_request(message, intake, rows)

    return _batches(messages(stream), add, intake)


def _document(add: Callable[[bytes, Intake, Rows], None]) -> Reader:
    def read(stream: BinaryIO, intake: Intake) -> Iterator[Spans]:
        return _batches(iter([read_json(stream, DOCUMENT_BYTES_MAX)]), add, intake)

    return read


def _span_csv(stream: BinaryIO, intake: Intake) -> Iterator[Spans]:
    return read_span_csv(stream, intake, BATCH_SPANS)


READERS: dict[str, Reader] = {
    ".jsonl": _otlp_json,
    ".pb": _otlp_proto,
    ".zipkin.json": _document(add_zipkin),
    ".jaeger.json": _document(add_jaeger),
    ".csv": _span_csv,
}
"""Readers by the suffix of a file's name."""
