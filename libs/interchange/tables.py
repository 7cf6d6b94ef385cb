"""Reading one Parquet table column by column, each checked against the type that the format gives it."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from libs.domain.fleet import Bools, Floats, Indices, Names
from libs.interchange.errors import InterchangeError, Problem, Problems

Content = bytes | BinaryIO | Path
Source = str | os.PathLike[str] | Mapping[str, Content]
"""A folder, or the content of each file by its name, as an upload brings it."""


def open_file(source: Source, name: str) -> BinaryIO:
    """Open a file of a source. Raises: InterchangeError where it is missing."""
    try:
        content = source[name] if isinstance(source, Mapping) else Path(source) / name
        if isinstance(content, bytes):
            return io.BytesIO(content)
        return content.open("rb") if isinstance(content, Path) else content
    except (KeyError, OSError) as error:
        reason = "is missing" if isinstance(error, KeyError | FileNotFoundError) else f"cannot be read ({error})"
        raise InterchangeError([Problem(name, None, None, reason)]) from error


class Table:
    """One Parquet file. Columns that are missing or of another type are noted, and read as if they were empty."""

    def __init__(self, source: Source, name: str, problems: Problems) -> None:
        self.file, self._problems = name, problems
        try:
            with open_file(source, name) as stream:
                self._table = pq.read_table(stream)
        except (pa.ArrowException, OSError) as error:
            raise InterchangeError([Problem(name, None, None, "is not a Parquet file, or is damaged")]) from error

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def has(self, field: str) -> bool:
        """Whether an optional column is there."""
        return field in self._table.column_names

    def bad_rows(self, bad: Bools, field: str, message: str, values: Names | None = None) -> None:
        """Note the rows of a mask; {} in the message is the row's value."""
        for row in np.flatnonzero(bad)[:20].tolist():
            self._problems.add(
                self.file, message.format(repr(values[row]) if values is not None else ""), row=row, field=field
            )

    def strings(self, field: str, *, nullable: bool = False) -> pa.Array:
        """A column of names; empty ones are refused."""
        column = self._column(
            field, lambda t: _is_string(t.value_type if pa.types.is_dictionary(t) else t), "strings", nullable
        )
        column = column.cast(pa.string())
        empty = pc.fill_null(pc.equal(column, ""), False)
        self.bad_rows(_numpy(empty), field, "is empty")
        return column

    def numbers(self, field: str, *, nullable: bool = False, least: float = 0.0) -> Floats:
        """A column of finite numbers of at least `least`; null becomes nan."""
        column = self._column(field, lambda t: pa.types.is_floating(t) or pa.types.is_integer(t), "numbers", nullable)
        present = _numpy(column.is_valid())
        values = _numpy(column.cast(pa.float64(), safe=False))
        self.bad_rows(present & ~np.isfinite(values), field, "is not a finite number")
        self.bad_rows(present & np.isfinite(values) & (values < least), field, f"is less than {least:g}")
        return np.array(values, np.float64)

    def booleans(self, field: str) -> Bools:
        """A column of true and false."""
        column = self._column(field, pa.types.is_boolean, "booleans", False)
        return np.array(_numpy(pc.fill_null(column, False)), np.bool_)

    def references(self, field: str, names: Names, what: str, *, nullable: bool = False, known: bool = True) -> Indices:
        """A column of names as indices into `names`; -1 for null, -2 for one that is not there, noted where `known`."""
        column = self.strings(field, nullable=nullable)
        index = pc.index_in(column, value_set=pa.array(names, pa.string()))
        codes = np.array(_numpy(pc.fill_null(index, -2)), np.int32)
        codes[~_numpy(column.is_valid())] = -1
        if known:
            self.bad_rows(codes == -2, field, f"{{}} is not a {what} of this region", _numpy(column))
        return codes

    def codes(self, field: str) -> tuple[Names, Indices]:
        """A column of names as (sorted distinct names, index of each row)."""
        names = _distinct(self.strings(field))
        return names, self.references(field, names, field, known=False)

    def unique(self, field: str, keys: np.ndarray[tuple[int], np.dtype[np.int64]], what: str) -> None:
        """Note rows whose key an earlier row has."""
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        self.bad_rows(first[inverse] != np.arange(len(keys)), field, f"{what} appears twice")

    def _column(self, field: str, allowed: object, wanted: str, nullable: bool) -> pa.Array:
        if field not in self._table.column_names:
            self._problems.add(self.file, "the column is missing", field=field)
            raise InterchangeError(self._problems.found)
        column = self._table.column(field).combine_chunks()
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if not allowed(column.type) and not pa.types.is_null(column.type):  # type: ignore[operator]
            self._problems.add(self.file, f"holds {column.type}, not {wanted}", field=field)
            raise InterchangeError(self._problems.found)
        if pa.types.is_null(column.type):
            column = column.cast({"strings": pa.string(), "numbers": pa.float64(), "booleans": pa.bool_()}[wanted])
        if not nullable:
            self.bad_rows(~_numpy(column.is_valid()), field, "is null")
        return column


def names_of(column: pa.Array) -> Names:
    """A column as an object array; null becomes None."""
    return np.array(column.to_pylist(), object) if len(column) else np.zeros(0, object)


def _distinct(column: pa.Array) -> Names:
    return np.array(sorted(v for v in column.unique().to_pylist() if v is not None), object)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numpy(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[Any]]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
