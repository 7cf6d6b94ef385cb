"""Split files that exceed the platform's limits into parts within them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from services.cli.failure import CliFailure

LINES_BYTES_MAX = 64 << 20
"""Largest number of bytes of a part of spans: some hundred thousand spans. The platform takes a million spans per
request.
"""
TABLE_BYTES_MAX, TABLE_ROWS_MAX = 24 << 20, 1_000_000
"""Largest numbers of bytes and of rows of a part of usage or traffic. The platform takes 32 MB per request."""
OBJECTS_MAX, DOCUMENT_BYTES_MAX = 300_000, 12 << 20
"""Objects and bytes of a part of a JSON document. The platform takes 400,000 objects and lists, within its memory."""


def span_parts(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each part. A small file is one unchanged part. Raises CliFailure if it is
    damaged.
    """
    packed = file.read_bytes()
    name = file.name.removesuffix(".gz")
    try:
        content = gzip.decompress(packed) if file.name.endswith(".gz") else packed
    except (OSError, EOFError) as error:
        raise CliFailure(f"{file}: {error}") from error
    split = next((by for end, by in _SPLIT.items() if name.endswith(end)), None)
    if split is None or _is_small(name, content):
        yield file.name, packed
        return
    for part in split(content):
        yield f"{name}.gz", gzip.compress(part, 1)


def table_parts(file: Path) -> Iterator[bytes]:
    """Yield the parts of a table in CSV or Parquet."""
    content = file.read_bytes()
    if file.suffix != ".parquet":
        yield from [content] if len(content) <= TABLE_BYTES_MAX else _by_rows(content, TABLE_BYTES_MAX)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_metadata(io.BytesIO(content)).num_rows
        if len(content) <= TABLE_BYTES_MAX and rows <= TABLE_ROWS_MAX:
            yield content
            return
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise CliFailure(f"{file}: {error}") from error
    for first in range(0, rows, TABLE_ROWS_MAX):
        part = io.BytesIO()
        pq.write_table(table.slice(first, TABLE_ROWS_MAX), part, compression="zstd")
        yield part.getvalue()


def _is_small(name: str, content: bytes) -> bool:
    if not name.endswith(".json"):
        return len(content) <= LINES_BYTES_MAX
    return len(content) <= DOCUMENT_BYTES_MAX and _objects(content) <= OBJECTS_MAX


def _objects(content: bytes) -> int:
    return content.count(b"{") + content.count(b"[")


def _by_lines(content: bytes) -> Iterator[bytes]:
    return _gathered(iter(io.BytesIO(content)), LINES_BYTES_MAX)


def _by_csv_lines(content: bytes) -> Iterator[bytes]:
    return _by_rows(content, LINES_BYTES_MAX)


def _by_rows(content: bytes, bytes_max: int) -> Iterator[bytes]:
    lines = iter(io.BytesIO(content))
    header = next(lines, b"")
    for part in _gathered(lines, bytes_max):
        yield header + part


def _by_messages(content: bytes) -> Iterator[bytes]:
    def messages() -> Iterator[bytes]:
        at = 0
        while at < len(content):
            end = at + 4 + int.from_bytes(content[at : at + 4], "big")
            yield content[at:end]
            at = end

    return _gathered(messages(), LINES_BYTES_MAX)


def _by_spans(content: bytes) -> Iterator[bytes]:
    for part in _of_documents(content, lambda document: document):
        yield b"[" + part + b"]"


def _by_traces(content: bytes) -> Iterator[bytes]:
    for part in _of_documents(content, lambda document: document["data"]):
        yield b'{"data":[' + part + b"]}"


def _of_documents(content: bytes, items: Callable[[Any], Any]) -> Iterator[bytes]:
    import orjson

    try:
        listed = list(items(orjson.loads(content)))
    except (ValueError, LookupError, TypeError) as error:
        raise CliFailure(f"it contains no list of spans or traces: {error}") from error
    gathered: list[bytes] = []
    size = objects = 0
    for item in map(orjson.dumps, listed):
        if gathered and (size + len(item) > DOCUMENT_BYTES_MAX or objects + _objects(item) > OBJECTS_MAX):
            yield b",".join(gathered)
            gathered, size, objects = [], 0, 0
        gathered.append(item)
        size, objects = size + len(item), objects + _objects(item)
    yield b",".join(gathered)


def _gathered(pieces: Iterator[bytes], bytes_max: int) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        if gathered and size + len(piece) > bytes_max:
            yield b"".join(gathered)
            gathered, size = [], 0
        gathered.append(piece)
        size += len(piece)
    yield b"".join(gathered)


_SPLIT: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    ".jsonl": _by_lines,
    ".pb": _by_messages,
    ".zipkin.json": _by_spans,
    ".jaeger.json": _by_traces,
    ".csv": _by_csv_lines,
}
"""Splitter by suffix of the file's name, without .gz."""
