"""A CSV file of servers with a header -> Inventory, read row by row."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from libs.domain.inventory import Inventory
from libs.domain.server import Unavailability
from libs.interchange.bounds import FILE_BYTES_MAX
from libs.interchange.errors import InterchangeError, Problem
from libs.interchange.field_mapping import FIELDS, OPTIONAL_FIELDS, FieldMapping, FieldRule
from libs.interchange.inventory_columns import InventoryColumns

CSV_FIELDS: FieldMapping = {field: FieldRule(keys=(field,)) for field in (*FIELDS, *OPTIONAL_FIELDS)}
"""Columns are called as the fields are. unavailability (none, planned or unplanned) and the sizes may be absent."""
COLUMNS_MAX = 200
_LINE_BYTES_MAX = 1 << 20
_MAX = 1e9


def load_csv(stream: BinaryIO, file: str, rules: FieldMapping = CSV_FIELDS) -> Inventory:
    """Read UTF-8, comma-separated, the first line naming the columns. Rows count from 0, behind the header.

    Raises: InterchangeError, which names the server and the column.
    """
    reader = csv.reader(_lines(stream, file), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(file, header, rules)
        columns = InventoryColumns(file, rules, "server", "column", hint=f"; the columns are {', '.join(header)[:500]}")
        for row, values in enumerate(line for line in reader if line):
            if len(values) != len(header):
                message = f"has {len(values)} values; the header has {len(header)}"
                columns.problems.add(file, message, row=row)
                columns.problems.raise_any()
            _add(columns, row, {name: value.strip() for name, value in zip(header, values, strict=True)})
    except csv.Error as error:
        raise _wrong(file, f"line {reader.line_num}: {error}") from error
    return columns.inventory()


def _lines(stream: BinaryIO, file: str) -> Iterator[str]:
    """Lines of text, each bounded, and all of them together."""
    read = 0
    while line := stream.readline(_LINE_BYTES_MAX + 1):
        read += len(line)
        if len(line) > _LINE_BYTES_MAX:
            raise _wrong(file, f"has a line of more than {_LINE_BYTES_MAX >> 20} MiB")
        if read > FILE_BYTES_MAX:
            raise _wrong(file, f"is longer than {FILE_BYTES_MAX >> 20} MiB")
        try:
            yield line.decode("utf-8-sig" if read == len(line) else "utf-8")
        except UnicodeDecodeError as error:
            raise _wrong(file, f"is not UTF-8: {error.reason} behind byte {read - len(line)}") from error


def _check_header(file: str, header: list[str], rules: FieldMapping) -> None:
    if not any(header):
        raise _wrong(file, "has no header: the first line names the columns")
    if len(header) > COLUMNS_MAX:
        raise _wrong(file, f"has {len(header)} columns; at most {COLUMNS_MAX} are taken")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise _wrong(file, f"has two columns called {twice[0]!r}")
    for field in FIELDS:
        lacking = [key for key in rules[field].keys if key not in header]
        if lacking and rules[field].default is None:
            raise InterchangeError(
                [
                    Problem(
                        file,
                        None,
                        field,
                        f"there is no column {lacking[0]!r} among {', '.join(header)[:500]}: name the one that has it "
                        f"with --map {field}=COLUMN, or say what to take without it with --default {field}=VALUE",
                    )
                ]
            )


def _add(columns: InventoryColumns, row: int, values: Mapping[str, str]) -> None:
    state = columns.rules["unavailability"].resolve(values.get, {}) or Unavailability.NONE.value
    if state not in {known.value for known in Unavailability}:
        message = f"{state[:40]!r} is not one of {', '.join(known.value for known in Unavailability)}"
        columns.problems.add(columns.file, message, row=row, field="unavailability")
        state = Unavailability.NONE.value
    columns.add(
        values.get,
        label=f"in row {row}",
        unavailability=Unavailability(state),
        vcpu=_number(columns, row, values, "vcpu"),
        memory_gib=_number(columns, row, values, "memory_gib"),
    )


def _number(columns: InventoryColumns, row: int, values: Mapping[str, str], field: str) -> float | None:
    text = columns.rules[field].resolve(values.get, {})
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _MAX:
        columns.problems.add(columns.file, f"{text[:40]!r} is not a number of 0 to {_MAX:g}", row=row, field=field)
        return None
    return value


def _wrong(file: str, message: str) -> InterchangeError:
    return InterchangeError([Problem(file, None, None, message)])
