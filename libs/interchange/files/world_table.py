"""Read one table of a world folder: `<name>.parquet`, or else CSV. Errors name file, row and field."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from libs.domain.arrays import Bools, Floats, Indices, Names
from libs.interchange.files.decoded import charge_csv
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source, Table, has_file, indices_of, open_file

Kind = Literal["name", "number"]
_BAD_VALUE = re.compile(r"CSV column #(\d+): Row #(\d+): .{0,200}? invalid value (.*)", re.DOTALL)
_HEADER_BYTES_MAX = 1 << 20
_FIRST_ROW = 2
"""Number of the line of a CSV file that holds row 0."""
_TYPES = {"name": pa.dictionary(pa.int32(), pa.string()), "number": pa.float64()}


class WorldTable(Table):
    """A table with the columns in `fields`, which gives the kind of each. An optional file that is missing counts as a
    table without rows.
    """

    def __init__(
        self, source: Source, name: str, problems: Problems, *, fields: Mapping[str, Kind], optional: bool = False
    ) -> None:
        if has_file(source, f"{name}.parquet"):
            super().__init__(source, f"{name}.parquet", problems, fields=fields)
            return
        self.file, self._problems = f"{name}.csv", problems
        if optional and not has_file(source, self.file):
            self._table = pa.table({field: pa.array([], _TYPES[kind]) for field, kind in fields.items()})
        else:
            self._table = _read_csv(source, self.file, fields)
        self._types = {column.name: column.type for column in self._table.schema}

    def optional_numbers(self, field: str, absent: float) -> Floats:
        """Return a column that may be missing, in whole or in some rows; missing numbers become `absent`."""
        if not self.has(field):
            return np.full(len(self), absent)
        found = self.numbers(field, nullable=True, least=-np.inf)
        return np.asarray(np.where(np.isnan(found), absent, found))

    def flags(self, field: str, *, absent: bool) -> Bools:
        """Return a column of 0 and 1 as booleans."""
        found = self.optional_numbers(field, float(absent))
        self.bad_rows((found != 0) & (found != 1), field, "is neither 0 nor 1")
        return np.asarray(found == 1)

    def known(self, field: str, names: Names, what: str) -> Indices:
        """Return a column of names as indices into `names`. An unknown name is reported and becomes 0."""
        column = self.strings(field)
        found = indices_of(column, names)
        self.bad_rows(found < 0, field, f"{{}} is not a {what} of this world", column.names)
        return np.maximum(found, 0)


def _read_csv(source: Source, name: str, fields: Mapping[str, Kind]) -> pa.Table:
    try:
        convert = pv.ConvertOptions(
            column_types={field: _TYPES[kind] for field, kind in fields.items()}, strings_can_be_null=True
        )
        with open_file(source, name) as stream:
            charge_csv(stream)
            table = pv.read_csv(stream, convert_options=convert)
        return table.select([column for column in table.column_names if column in fields])
    except UnicodeDecodeError as error:
        raise InterchangeError([Problem(name, None, None, "has a header that is not UTF-8")]) from error
    except (pa.ArrowException, OSError) as error:
        raise InterchangeError([_bad_csv(source, name, convert, error)]) from error


def _bad_csv(source: Source, name: str, convert: pv.ConvertOptions, error: Exception) -> Problem:
    """Return the problem of a CSV file, after reading it again.

    A reader with one thread knows the row. The first line of the file has the name of the column.
    """
    said = str(error)
    try:
        with open_file(source, name) as stream:
            header = _header(stream.readline(_HEADER_BYTES_MAX).decode(errors="replace"))
            stream.seek(0)
            pv.read_csv(stream, pv.ReadOptions(use_threads=False), convert_options=convert)
    except (pa.ArrowException, OSError) as again:
        said = str(again)
    found = _BAD_VALUE.search(said)
    if found is None or int(found[1]) >= len(header):
        return Problem(name, None, None, f"cannot be read: {said}")
    column, row, value = found.groups()
    return Problem(name, int(row) - _FIRST_ROW, header[int(column)], f"{value} is not a number")


def _header(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a name has more than 131,072 characters
        return []
