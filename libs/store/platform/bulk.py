"""Bulk reads and writes of columns, for data that grows with the fleet: no statement and no object per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from numpy.typing import NDArray
from psycopg import sql
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from libs.domain.arrays import Ints, Names
from libs.store.platform.database import Transaction, raw
from libs.store.platform.refusals import NotPossible

Column = Sequence[object] | NDArray[np.generic]

_TYPES: tuple[tuple[type[object], str], ...] = (
    (sa.BigInteger, "int8"),
    (sa.Integer, "int4"),
    (sa.Boolean, "bool"),
    (sa.Double, "float8"),
    (sa.Text, "text"),
    (sa.DateTime, "timestamptz"),
    (JSONB, "jsonb"),
)
_HEADER_BYTES, _TRAILER_BYTES = 19, 2
_ARRAY_HEAD_BYTES = 20


def new_ids(tx: Transaction, column: sa.Column[int], count: int) -> Ints:
    """Return (count,) new, ascending values of an identity column, for rows that copy_in will write."""
    statement = "SELECT nextval(pg_get_serial_sequence(:table, :column)) FROM generate_series(1, :count)"
    found = tx.execute(sa.text(statement), {"table": column.table.name, "column": column.name, "count": count})
    return np.fromiter(found.scalars(), np.int64, count)


def copy_in(tx: Transaction, table: sa.Table, columns: Mapping[str, Column]) -> None:
    """COPY equally long columns into a table. None is NULL. Raises NotPossible where the schema forbids a row."""
    copy = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    values = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    try:
        with raw(tx).cursor() as cursor, cursor.copy(copy) as stream:
            stream.set_types([_type(table.c[name]) for name in columns])
            for row in zip(*values, strict=True):
                stream.write_row(row)
    except psycopg.IntegrityError as error:
        detail = error.diag.message_detail or ""
        raise NotPossible(table.name, f"{error.diag.message_primary}. {detail}".strip()) from error


def copy_out(
    tx: Transaction, query: str, parameters: Mapping[str, object], row: Mapping[str, str | np.dtype[Any]]
) -> NDArray[np.void]:
    """Run a query and return its rows as a structured array.

    query       returns the columns of `row`, in that order and without NULL
    row         name -> big-endian numpy type of the column: '>i8' for bigint, '>f8' for double, '?' for boolean. If all
                rows have one width, also 'V240' for bytea, and libs.store.platform.records.vector for float8[]
    """
    record: list[tuple[str, str | np.dtype[Any]]] = [("fields", ">i2")]
    for name, kind in row.items():
        record += [(f"{name} bytes", ">i4"), (name, kind)]
    with raw(tx).cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT BINARY)", parameters) as stream:
        answer = b"".join(stream)
    return np.frombuffer(memoryview(answer)[_HEADER_BYTES : len(answer) - _TRAILER_BYTES], np.dtype(record))


def load_columns(
    tx: Transaction, query: str, parameters: Mapping[str, object], columns: Mapping[str, str]
) -> dict[str, NDArray[Any]]:
    """Run a query and return its columns as arrays. It costs a value per column, where `copy_out` costs one per row.

    query     returns the columns by name, in the order wanted. Numbers and booleans must not be NULL
    columns   name -> numpy type: 'i8' for bigint, 'i4' for int, 'f8' for double, '?' for boolean; 'O' for text
    """
    wanted = [
        f"array_agg({name})" if kind == "O" else f"array_send(array_agg({name}))" for name, kind in columns.items()
    ]
    with raw(tx).cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(wanted)} FROM ({query}) AS found", parameters, binary=True)
        [answer] = cursor.fetchall()
    return {name: _column(value, kind) for value, (name, kind) in zip(answer, columns.items(), strict=True)}


def _column(value: Any, kind: str) -> NDArray[Any]:
    if value is None:  # no rows
        return np.zeros(0, kind)
    if kind == "O":
        return np.fromiter(value, object, len(value))
    item = np.dtype([("bytes", ">i4"), ("value", np.dtype(kind).newbyteorder(">"))])
    return np.frombuffer(value, item, offset=_ARRAY_HEAD_BYTES)["value"].astype(kind)


def raw_rows(tx: Transaction, query: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
    """Return all rows of a query. It bypasses SQLAlchemy, which is too slow for hundreds of thousands of texts."""
    with raw(tx).cursor() as cursor:
        return cursor.execute(query, parameters).fetchall()


def load_names(tx: Transaction, query: str, parameters: Mapping[str, object]) -> Names:
    """Return the (N,) values of a query with a single text column."""
    with raw(tx).cursor() as cursor:
        rows = cursor.execute(query, parameters).fetchall()
    return np.fromiter((row[0] for row in rows), object, len(rows))


def _type(column: sa.Column[object]) -> str:
    kind = column.type
    if isinstance(kind, ARRAY):
        return next(name for one, name in _TYPES if isinstance(kind.item_type, one)) + "[]"
    return next(name for one, name in _TYPES if isinstance(kind, one))
