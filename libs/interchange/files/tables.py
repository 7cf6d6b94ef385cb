"""Read one Parquet table column by column, and check each column against the type that the format gives it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.interchange.files.bounds import (
    NAME_CHARACTERS_MAX,
    open_parquet,
    read_columns,
    require_decodable,
    with_indices_in_bounds,
)
from libs.interchange.files.errors import InterchangeError, Problem, Problems

Content = bytes | BinaryIO | Path
ROWS_SHOWN, ROWS_ALIKE = 20, 3
"""Largest number of bad rows to name: in all with different values, and with the same message."""
Source = str | os.PathLike[str] | Mapping[str, Content]
"""A folder, or the content of each file by its name, as in an upload."""


def open_file(source: Source, name: str) -> BinaryIO:
    """Open a file of a source. Raises InterchangeError if it is missing."""
    try:
        content = source[name] if isinstance(source, Mapping) else Path(source) / name
        if isinstance(content, bytes):
            return io.BytesIO(content)
        return content.open("rb") if isinstance(content, Path) else content
    except (KeyError, OSError) as error:
        reason = "is missing" if isinstance(error, KeyError | FileNotFoundError) else f"cannot be read ({error})"
        raise InterchangeError([Problem(name, None, None, reason)]) from error


def has_file(source: Source, name: str) -> bool:
    """Return whether a source has a file of this name."""
    return name in source if isinstance(source, Mapping) else (Path(source) / name).exists()


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """A column of names that keeps each distinct name once, so a million rows of one long name stay small.

    values   (V,) str or None   distinct; the last is None
    codes    (N,) int           index into values; -1: null
    """

    values: Names
    codes: Ints

    @property
    def names(self) -> Names:
        """Names of the rows, (N,) str or None."""
        return self.values[self.codes]

    def matches(self, wanted: Callable[[str], bool]) -> Bools:
        """Return the (N,) mask of rows with a name for which `wanted` is True."""
        return np.array([*map(wanted, self.values[:-1]), False], bool)[self.codes]


class Table:
    """One Parquet file. Only `fields`, and those that begin with `prefix`, are read. Other columns are ignored and may
    have any type.

    A column that is missing or of another type is reported, and ends the reading of this table.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        problems: Problems,
        *,
        fields: Collection[str],
        prefix: str | tuple[str, ...] | None = None,
    ) -> None:
        self.file, self._problems = name, problems
        try:
            with open_file(source, name) as stream:
                self._types, self._table = _read(stream, name, fields, prefix)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # UnicodeDecodeError: a column's name
            raise InterchangeError([Problem(name, None, None, "is not a Parquet file, or is damaged")]) from error

    @classmethod
    def of(cls, file: str, columns: pa.Table, problems: Problems) -> Table:
        """Return a table of columns from another kind of file; `file` is its name."""
        table = cls.__new__(cls)
        table.file, table._problems = file, problems
        table._types, table._table = {field.name: field.type for field in columns.schema}, columns
        return table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def has(self, field: str) -> bool:
        """Return whether the file has an optional column."""
        return field in self._types

    def bad_rows(self, bad: Bools, field: str, message: str, values: Names | None = None) -> None:
        """Report the first rows for which `bad` is True, and the number of further rows. In `message`, {} becomes the
        row's value.
        """
        rows = np.flatnonzero(bad)
        shown = rows[: ROWS_ALIKE if values is None else ROWS_SHOWN].tolist()
        for row in shown:
            told = message.format(repr(values[row]) if values is not None else "")
            if row == shown[-1] and len(rows) > len(shown):
                told += f" (and in {len(rows) - len(shown):,} more rows)"
            self._problems.add(self.file, told, row=row, field=field)

    def strings(
        self, field: str, *, nullable: bool = False, longest: int = NAME_CHARACTERS_MAX, is_name: bool = True
    ) -> Strings:
        """Return a column of names. Empty and overlong names are refused, and those with characters that do not print.

        is_name   False: a text that may have lines
        """
        column = self._column(field, _is_string, "strings", nullable).dictionary_encode()
        long = _numpy(pc.greater(pc.utf8_length(column.dictionary), longest)).astype(bool)
        distinct = column.dictionary.dictionary_encode()  # the dictionary of a file may hold a value twice
        codes = _numpy(column.indices.fill_null(-1)).astype(np.int64)
        if long.any():
            self.bad_rows(np.append(long, False)[codes], field, f"is longer than {longest} characters")
            self._problems.raise_any()
        first = np.append(_numpy(distinct.indices.fill_null(-1)).astype(np.int64), -1)
        try:
            values = distinct.dictionary.to_pylist()
        except UnicodeDecodeError as error:  # Parquet declares UTF-8 without checking it
            self._problems.add(self.file, "holds a name that is not UTF-8", field=field)
            raise InterchangeError(self._problems.found) from error
        found = Strings(np.array([*values, None], object), first[codes])
        self.bad_rows(found.matches(lambda name: not name), field, "is empty")
        if is_name:
            self.bad_rows(
                found.matches(lambda name: bool(name) and not name.isprintable()),
                field,
                "has characters that do not print",
            )
        self.bad_rows(found.matches(lambda name: bool(name) and "\0" in name), field, "holds the character NUL")
        return found

    def optional_strings(self, field: str, absent: str) -> Names:
        """Return a column that may be missing, in whole or in some rows; missing names become `absent`."""
        if not self.has(field):
            return np.full(len(self), absent, object)
        found = self.strings(field, nullable=True)
        return np.append(found.values[:-1], absent)[found.codes]

    def choices(self, field: str, allowed: Collection[str], absent: str) -> Names:
        """Return a column of names that may be missing, as optional_strings does. The names must be among `allowed`."""
        names = self.optional_strings(field, absent)
        bad = ~np.isin(names.astype(str), list(allowed)) if len(names) else np.zeros(0, bool)
        self.bad_rows(bad, field, f"{{}} is not one of {', '.join(allowed)}", names)
        return names

    def numbers(self, field: str, *, nullable: bool = False, least: float = 0.0, most: float = np.inf) -> Floats:
        """Return a column of finite numbers from `least` to `most`; null becomes nan."""
        column = self._column(field, _is_number, "numbers", nullable)
        present = _numpy(column.is_valid())
        values = _numpy(column.cast(pa.float64(), safe=False))
        self.bad_rows(present & ~np.isfinite(values), field, "is not a finite number")
        self.bad_rows(present & np.isfinite(values) & (values < least), field, f"is less than {least:g}")
        self.bad_rows(present & np.isfinite(values) & (values > most), field, f"is above {most:g}")
        return np.array(values, np.float64)

    def booleans(self, field: str) -> Bools:
        """Return a column of booleans."""
        column = self._column(field, pa.types.is_boolean, "booleans", False)
        return np.array(_numpy(pc.fill_null(column, False)), np.bool_)

    def references(self, field: str, names: Names, what: str, *, nullable: bool = False) -> Indices:
        """Return a column of names as indices into `names`; -1 for null, -2 for an unknown name, which is reported."""
        column = self.strings(field, nullable=nullable)
        codes = indices_of(column, names)
        self.bad_rows(codes == -2, field, f"{{}} is not a {what} of this region", column.names)
        return codes

    def codes(self, field: str, *, nullable: bool = False) -> tuple[Names, Indices]:
        """Return a column of names as (sorted distinct names, index of each row); -1 for null."""
        column = self.strings(field, nullable=nullable)
        used = np.unique(column.codes[column.codes >= 0])  # a dictionary may hold names that no row uses
        names = np.array(sorted(column.values[used]), object)
        return names, indices_of(column, names)

    def unique(self, field: str, keys: Ints, what: str) -> None:
        """Report rows whose key appears in an earlier row."""
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        self.bad_rows(first[inverse] != np.arange(len(keys)), field, f"{what} appears twice")

    def at_most(self, most: int, field: str, names: Names) -> None:
        """Raise InterchangeError if a column has more than `most` distinct names."""
        if len(names) > most:
            self.refuse(f"has {len(names)} different names; at most {most} are allowed", field)

    def fields_with(self, prefix: str) -> list[str]:
        """Return the columns whose name begins with `prefix`, in order of name."""
        return sorted(field for field in self._types if field.startswith(prefix))

    def refuse(self, message: str, field: str) -> NoReturn:
        """Report a problem of a column, and raise InterchangeError."""
        self._problems.add(self.file, message, field=field)
        raise InterchangeError(self._problems.found)

    def _column(self, field: str, allowed: Callable[[pa.DataType], bool], wanted: str, nullable: bool) -> pa.Array:
        kind = self._types.get(field)
        if kind is None:
            self._problems.add(self.file, "the column is missing", field=field)
            raise InterchangeError(self._problems.found)
        if not allowed(kind) and not pa.types.is_null(kind):
            self._problems.add(self.file, f"holds {kind}, not {wanted}", field=field)
            raise InterchangeError(self._problems.found)
        column = self._table.column(field)
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        column = column.combine_chunks()
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_null(column.type):
            column = column.cast({"strings": pa.string(), "numbers": pa.float64(), "booleans": pa.bool_()}[wanted])
        if not nullable:
            self.bad_rows(~_numpy(column.is_valid()), field, "is null")
        return column


def indices_of(column: Strings, names: Names) -> Indices:
    """Return the (N,) index of each row's name in `names`; -1 for null, -2 for an unknown name."""
    row_of = {name: row for row, name in enumerate(names)}
    found = [row_of.get(name, -2) for name in column.values[:-1]]
    return np.array([*found, -1], np.int32)[column.codes]


def _read(
    stream: BinaryIO, name: str, fields: Collection[str], prefix: str | tuple[str, ...] | None
) -> tuple[Mapping[str, pa.DataType], pa.Table]:
    """Return the types of the wanted fields in the file, and a table of those columns whose memory is bounded."""
    footer = open_parquet(name, stream)
    if prefix is not None:
        fields = {*fields, *(field for field in footer.schema_arrow.names if field.startswith(prefix))}
    found = [(field.name, field.type) for field in footer.schema_arrow if field.name in fields]
    types = dict(found)
    if len(types) < len(found):
        raise InterchangeError([Problem(name, None, None, "has two columns of one name")])
    require_decodable(name, stream, fields)
    names = [field for field, kind in found if _is_string(kind)]
    plain = [field for field, kind in found if _is_plain(kind)]
    return types, with_indices_in_bounds(read_columns(stream, footer, names, plain))


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether the memory of a column is bounded: a number per row, or names that are kept once."""
    return _is_string(kind) or _is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _is_string(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numpy(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[Any]]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
