"""Read a CSV file of servers with a header as an Inventory, row by row."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import BinaryIO

from libs.domain.domain_kind import KIND_RULE
from libs.domain.inventory import Inventory
from libs.domain.unavailability import Unavailability
from libs.interchange.files.bounds import FILE_BYTES_MAX
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.inventory.columns import InventoryColumns
from libs.interchange.inventory.field_mapping import (
    FIELDS,
    OPTIONAL_FIELDS,
    FieldMapping,
    FieldRule,
    is_domain_field,
)
from libs.interchange.region.server_columns import DOMAIN_PREFIX

CSV_FIELDS: FieldMapping = {field: FieldRule(keys=(field,)) for field in (*FIELDS, *OPTIONAL_FIELDS)}
"""Rules for CSV: a column has the name of its field.

`unavailability` (none, planned or unplanned) and the sizes are optional. So are columns such as `domain:network_block`.
"""
COLUMNS_MAX = 200
_LINE_BYTES_MAX = 1 << 20
_MAX = 1e9
_OTHER_MARKS = ";\t|"
"""Column separators of other programs."""


def load_csv(stream: BinaryIO, file: str, rules: FieldMapping = CSV_FIELDS) -> Inventory:
    """Read comma-separated UTF-8 with the names of the columns in the first line.

    Raises InterchangeError, which names the server, the column and the line of the file. The header is line 1.
    """
    reader = csv.reader(_lines(stream, file), strict=True)
    lines = array("L")
    try:
        header = [name.strip() for name in next(reader, [])]
        rules = {name: FieldRule(keys=(name,)) for name in header if name.startswith(DOMAIN_PREFIX)} | dict(rules)
        _check_header(file, header, rules)
        hint = f"; the columns are {', '.join(header)[:500]}"
        columns = InventoryColumns(file, rules, "server", "column", hint=hint, lacks="nothing in")
        for row, values in enumerate(line for line in reader if line):
            lines.append(reader.line_num)
            if len(values) != len(header):
                message = f"has {len(values)} values; the header has {len(header)}"
                columns.problems.add(file, message, row=row)
                columns.problems.raise_any()
            cells = {name: value.strip() for name, value in zip(header, values, strict=True)}
            _add(columns, row, reader.line_num, cells)
        return columns.inventory()
    except csv.Error as error:
        raise _wrong(file, f"line {reader.line_num}: {error}") from error
    except InterchangeError as error:
        found = [p if p.row is None else replace(p, line=lines[p.row]) for p in error.problems]
        raise InterchangeError(found) from error


def _lines(stream: BinaryIO, file: str) -> Iterator[str]:
    """Yield the lines as text. The length of each line and of the file are bounded."""
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
            raise _wrong(file, f"is not UTF-8: {error.reason} after byte {read - len(line)}") from error


def _check_header(file: str, header: list[str], rules: FieldMapping) -> None:
    if not any(header):
        raise _wrong(file, "has no header: the first line names the columns")
    if len(header) > COLUMNS_MAX:
        raise _wrong(file, f"has {len(header)} columns; at most {COLUMNS_MAX} are allowed")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise _wrong(file, f"has two columns called {twice[0]!r}")
    for name in header:
        if name.startswith(DOMAIN_PREFIX) and not is_domain_field(name):
            raise InterchangeError([Problem(file, None, name, KIND_RULE)])
    needed = [field for field in rules if field in FIELDS or is_domain_field(field)]
    rule_keys = {field: rules[field].keys for field in needed if rules[field].default is None}
    lacking = {field: [key for key in keys if key not in header] for field, keys in rule_keys.items()}
    fields = [field for field, keys in lacking.items() if keys]
    if not fields:
        return
    names = ", ".join(repr(key) for field in fields for key in lacking[field])
    maps, known = " ".join(f"--map {field}=COLUMN" for field in fields), ", ".join(header)[:500]
    if len(fields) == 1:
        message = (
            f"there is no column {names} among {known}: name the one that has it with {maps}, or say what to take "
        )
        message += f"without it with --default {fields[0]}=VALUE"
    else:
        message = f"there are no columns {names} among {known}: name those that have them with {maps}, or say what to "
        message += "take without one with --default FIELD=VALUE"
    if len(header) == 1 and any(mark in header[0] for mark in _OTHER_MARKS):
        message = f"has one column, {header[0][:500]!r}: put commas between columns"
    raise InterchangeError([Problem(file, None, fields[0] if len(fields) == 1 else None, message)])


def _add(columns: InventoryColumns, row: int, line: int, values: Mapping[str, str]) -> None:
    state = columns.rules["unavailability"].resolve(values.get, {}) or Unavailability.NONE.value
    if state not in {known.value for known in Unavailability}:
        message = f"{state[:40]!r} is not one of {', '.join(known.value for known in Unavailability)}"
        columns.problems.add(columns.file, message, row=row, field="unavailability")
        state = Unavailability.NONE.value
    columns.add(
        values.get,
        label=f"in line {line}",
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
