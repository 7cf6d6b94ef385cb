"""Read rows of a planning input from JSON, CSV or Parquet without checking them, and write checked rows back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from libs.interchange.files.bounds import open_parquet, read_columns, require_decodable, with_indices_in_bounds
from libs.interchange.files.decoded import (
    CELL_OBJECT_BYTES,
    ROW_OBJECT_BYTES,
    TooLarge,
    charge,
    charge_csv,
    charge_json,
)
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.planning_inputs.rows import ROWS_MAX, Row, require_few
from libs.interchange.planning_inputs.tables import ColumnKind, InputTable

_ARROW = {
    ColumnKind.NAME: pa.string(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.FLAG: pa.float64(),
    ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
}
LINE_CHARACTERS_MAX = 1 << 20
_FORMULA = re.compile(r"\A'*[=+@\t\r-]")
_LABEL = re.compile(r"^'(?='*[=+@\t\r-])")


def rows_of_json(table: InputTable, body: bytes) -> list[Row]:
    """Return the rows of `{"rows": [{...}]}`. Raises InterchangeError."""
    try:
        charge_json(body)
        found = json.loads(body)
        if b"\\u" in body:
            json.dumps(found, ensure_ascii=False).encode()  # raises for half of a surrogate pair, which has no UTF-8
    except TooLarge as error:
        raise InterchangeError([Problem(table.name, None, None, str(error))]) from error
    except (ValueError, RecursionError) as error:
        raise InterchangeError([Problem(table.name, None, None, f"is not JSON: {error}")]) from error
    rows = found.get("rows") if isinstance(found, dict) and set(found) == {"rows"} else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InterchangeError([Problem(table.name, None, None, 'is not {"rows": [{...}, ...]}')])
    return rows


def rows_of_csv(table: InputTable, body: bytes) -> list[Row]:
    """Return the rows of a CSV table with a header. An empty cell becomes None. Raises InterchangeError."""
    stream = io.BytesIO(body)
    charge_csv(stream, line=ROW_OBJECT_BYTES, cell=CELL_OBJECT_BYTES)
    try:
        lines = list(islice(csv.reader(_short_lines(table, stream), strict=True), ROWS_MAX + 2))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InterchangeError([Problem(table.name, None, None, f"is not CSV: {error}")]) from error
    if not lines:
        raise InterchangeError([Problem(table.name, None, None, "has no header")])
    header, problems = lines[0], Problems()
    if len(set(header)) < len(header):
        problems.add(table.name, "has two columns of one name")
    for number, line in enumerate(lines[1:]):
        if line and len(line) != len(header):
            problems.add(table.name, f"has {len(line)} cells; the header has {len(header)}", row=number)
    problems.raise_any()
    return [
        {name: _LABEL.sub("", cell) or None for name, cell in zip(header, line, strict=True)}
        for line in lines[1:]
        if line
    ]


def _short_lines(table: InputTable, stream: BinaryIO) -> Iterator[str]:
    """Yield the lines. Their length is bounded, because the parser blocks other threads while it reads one."""
    for line in io.TextIOWrapper(stream, "utf-8-sig", newline=""):
        if len(line) > LINE_CHARACTERS_MAX:
            message = f"has a line of more than {LINE_CHARACTERS_MAX:,} characters"
            raise InterchangeError([Problem(table.name, None, None, message)])
        yield line


def rows_of_parquet(table: InputTable, body: bytes) -> list[Row]:
    """Return the rows of a Parquet table. Raises InterchangeError."""
    try:
        stream = io.BytesIO(body)
        file = open_parquet(table.name, stream)
        names = file.schema_arrow.names
        if len(set(names)) < len(names) or any(pa.types.is_nested(kind) for kind in file.schema_arrow.types):
            raise InterchangeError([Problem(table.name, None, None, "has nested columns, or two of one name")])
        require_few(table, file.metadata.num_rows)
        require_decodable(table.name, stream, names)
        charge(file.metadata.num_rows * (ROW_OBJECT_BYTES + CELL_OBJECT_BYTES * len(names)))
        columns = read_columns(stream, file, names)
        found = _objects(with_indices_in_bounds(columns))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InterchangeError([Problem(table.name, None, None, "is not a Parquet file, or is damaged")]) from error
    return found


def _objects(columns: pa.Table) -> list[Row]:
    """Return the rows as dictionaries. A long text that many rows share is kept once."""
    values = [_values(column) for column in columns.itercolumns()]
    return [dict(zip(columns.column_names, row, strict=True)) for row in zip(*values, strict=True)]


def _values(column: pa.ChunkedArray) -> list[object]:
    if not pa.types.is_dictionary(column.type):
        found: list[object] = column.to_pylist()
        return found
    column = column.unify_dictionaries()
    distinct = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    indices = [at for chunk in column.chunks for at in chunk.indices.to_pylist()]
    return [None if at is None else distinct[at] for at in indices]


def parquet_of(table: InputTable, rows: Sequence[Row]) -> bytes:
    """Return checked rows as a Parquet file."""
    schema = pa.schema([(column.name, pa.int64() if column.whole else _ARROW[column.kind]) for column in table.columns])
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema), stream, compression="zstd")
    return stream.getvalue()


def stored_rows(content: bytes) -> list[Row]:
    """Return the rows that parquet_of wrote."""
    found: list[Row] = pq.read_table(io.BytesIO(content)).to_pylist()
    return found


def json_rows(rows: Sequence[Row]) -> list[Row]:
    """Return rows for JSON: without empty cells, and with times in ISO 8601."""
    return [
        {name: v.isoformat() if isinstance(v, datetime) else v for name, v in row.items() if v is not None}
        for row in rows
    ]


def csv_of(table: InputTable, rows: Sequence[Row]) -> str:
    """Return rows in the form that rows_of_csv reads.

    A name that a spreadsheet would take for a formula gets a leading apostrophe, which spreadsheets read as a label.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [column.name for column in table.columns])
    writer.writeheader()
    writer.writerows({name: _labelled(cell) for name, cell in row.items()} for row in json_rows(rows))
    return stream.getvalue()


def _labelled(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
