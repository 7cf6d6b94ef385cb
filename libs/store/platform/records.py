"""Bulk reads and writes of arrays, as records of fixed width in COPY's binary format: no object per row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from psycopg import sql

from libs.store.platform.database import Transaction, raw

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_FLOAT8_OID = 701
_DAY_ZERO = date(2000, 1, 1)
_CHUNK_BYTES = 1 << 20
_KINDS = {"i4": ">i4", "i8": ">i8", "f8": ">f8"}


def days(day: date, rows: int) -> NDArray[np.int32]:
    """Return a (rows,) column with `day` in every row, encoded as PostgreSQL's number of days."""
    return np.full(rows, (day - _DAY_ZERO).days, np.int32)


def vector(length: int) -> np.dtype[Any]:
    """Return the type of float8[length] for copy_out. The numbers are in `["items"]["value"]`."""
    head = [(name, ">i4") for name in ("dimensions", "nulls", "oid", "length", "lower")]
    return np.dtype([*head, ("items", [("bytes", ">i4"), ("value", ">f8")], (length,))])


def copy_records(tx: Transaction, table: str, columns: Mapping[str, NDArray[Any]]) -> None:
    """COPY equally long columns into a table.

    A column holds integers or floats of the width of the table's column. It may also hold (N, n) floats for float8[],
    or bytes of one length (numpy's V) for bytea.
    """
    rows = _records(columns)
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    content = rows.tobytes()
    with raw(tx).cursor() as cursor, cursor.copy(statement) as stream:
        stream.write(_HEADER)
        for start in range(0, len(content), _CHUNK_BYTES):
            stream.write(content[start : start + _CHUNK_BYTES])
        stream.write(_TRAILER)


def add_records(tx: Transaction, table: sa.Table, columns: Mapping[str, NDArray[Any]]) -> None:
    """Insert rows, and add to rows whose primary key exists. All callers must pass rows in the same order.

    Columns outside the key hold numbers, or arrays of numbers that are added element by element.
    """
    keys = [column.name for column in table.primary_key]
    added = [name for name in columns if name not in keys]
    sets = ", ".join(f"{name} = {_sum(table, name)}" for name in added)
    merge_records(tx, table, columns, sets)


def replace_records(tx: Transaction, table: sa.Table, columns: Mapping[str, NDArray[Any]]) -> None:
    """Insert rows, and replace rows whose primary key exists."""
    keys = [column.name for column in table.primary_key]
    merge_records(tx, table, columns, ", ".join(f"{name} = EXCLUDED.{name}" for name in columns if name not in keys))


def merge_records(tx: Transaction, table: sa.Table, columns: Mapping[str, NDArray[Any]], sets: str) -> None:
    """Insert rows, and apply `sets`, a SQL SET list, to rows whose primary key exists."""
    if not len(next(iter(columns.values()))):
        return
    incoming = stage_records(tx, table, columns)
    listed, keys = ", ".join(columns), ", ".join(column.name for column in table.primary_key)
    insert = f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM {incoming}"
    tx.execute(sa.text(f"{insert} ON CONFLICT ({keys}) DO UPDATE SET {sets}"))


def stage_records(tx: Transaction, table: sa.Table, columns: Mapping[str, NDArray[Any]]) -> str:
    """Copy rows into a temporary table with the columns of `table`; return its name."""
    incoming = f"incoming_{table.name}"
    tx.execute(sa.text(f"CREATE TEMPORARY TABLE IF NOT EXISTS {incoming} (LIKE {table.name}) ON COMMIT DELETE ROWS"))
    tx.execute(sa.text(f"DELETE FROM {incoming}"))
    copy_records(tx, incoming, columns)
    return incoming


def _sum(table: sa.Table, name: str) -> str:
    if not isinstance(table.c[name].type, sa.ARRAY):
        return f"{table.name}.{name} + EXCLUDED.{name}"
    pairs = f"unnest({table.name}.{name}, EXCLUDED.{name}) WITH ORDINALITY AS pairs (here, more, nth)"
    return f"(SELECT array_agg(here + more ORDER BY nth) FROM {pairs})"


def _records(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.void]:
    layout: list[Any] = [("fields", ">i2")]
    for name, column in columns.items():
        layout += [(f"{name} bytes", ">i4"), (name, _layout(column))]
    rows = np.zeros(len(next(iter(columns.values()))), np.dtype(layout))
    rows["fields"] = len(columns)
    for name, column in columns.items():
        rows[f"{name} bytes"] = rows.dtype[name].itemsize
        if column.ndim == 1:
            rows[name] = column
            continue
        cell = rows[name]
        cell["dimensions"], cell["oid"], cell["length"], cell["lower"] = 1, _FLOAT8_OID, column.shape[1], 1
        cell["items"]["bytes"], cell["items"]["value"] = 8, column
    return rows


def _layout(column: NDArray[Any]) -> Any:
    if column.ndim == 2:
        return vector(column.shape[1])
    return column.dtype if column.dtype.kind == "V" else _KINDS[column.dtype.str[1:]]
