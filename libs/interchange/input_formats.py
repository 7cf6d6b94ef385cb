"""Rows of a planning input from JSON, CSV or Parquet as they came, and checked ones back into these."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq

from libs.interchange.bounds import require_decodable
from libs.interchange.errors import InterchangeError, Problem, Problems
from libs.interchange.input_rows import Row, require_few
from libs.interchange.input_tables import ColumnKind, InputTable

_ARROW = {
    ColumnKind.NAME: pa.string(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.FLAG: pa.float64(),
    ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
}


def rows_of_json(table: InputTable, body: bytes) -> list[Row]:
    """`{"rows": [{...}]}`. Raises: InterchangeError."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InterchangeError([Problem(table.name, None, None, f"is not JSON: {error}")]) from error
    rows = found.get("rows") if isinstance(found, dict) and set(found) == {"rows"} else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InterchangeError([Problem(table.name, None, None, 'is not {"rows": [{...}, ...]}')])
    return rows


def rows_of_csv(table: InputTable, body: bytes) -> list[Row]:
    """A header and a row a line; an empty cell is one that is not there. Raises: InterchangeError."""
    try:
        lines = list(csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True))
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
    return [{name: cell or None for name, cell in zip(header, line, strict=True)} for line in lines[1:] if line]


def rows_of_parquet(table: InputTable, body: bytes) -> list[Row]:
    """Raises: InterchangeError."""
    try:
        file = pq.ParquetFile(io.BytesIO(body))
        names = file.schema_arrow.names
        if len(set(names)) < len(names) or any(pa.types.is_nested(kind) for kind in file.schema_arrow.types):
            raise InterchangeError([Problem(table.name, None, None, "has nested columns, or two of one name")])
        require_few(table, file.metadata.num_rows)
        require_decodable(table.name, file.metadata, names)
        found: list[Row] = file.read().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise InterchangeError([Problem(table.name, None, None, "is not a Parquet file, or is damaged")]) from error
    return found


def parquet_of(table: InputTable, rows: Sequence[Row]) -> bytes:
    """Checked rows as Parquet."""
    schema = pa.schema([(column.name, pa.int64() if column.whole else _ARROW[column.kind]) for column in table.columns])
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema), stream, compression="zstd")
    return stream.getvalue()


def stored_rows(content: bytes) -> list[Row]:
    """The rows that parquet_of wrote."""
    found: list[Row] = pq.read_table(io.BytesIO(content)).to_pylist()
    return found


def json_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows for JSON: what is not there is left out, and moments are words."""
    return [
        {name: v.isoformat() if isinstance(v, datetime) else v for name, v in row.items() if v is not None}
        for row in rows
    ]


def csv_of(table: InputTable, rows: Sequence[Row]) -> str:
    """Rows as rows_of_csv reads them."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [column.name for column in table.columns])
    writer.writeheader()
    writer.writerows(json_rows(rows))
    return stream.getvalue()
