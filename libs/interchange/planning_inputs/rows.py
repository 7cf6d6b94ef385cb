"""Check the rows of a planning input: each cell against its column, and keys for duplicates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from libs.interchange.files.bounds import NAME_CHARACTERS_MAX
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.hints import hint
from libs.interchange.planning_inputs.tables import ColumnKind, InputColumn, InputTable

ROWS_MAX = 200_000
Row = dict[str, Any]
_FLAGS = {"0": 0.0, "1": 1.0, "true": 1.0, "false": 0.0}


def require_few(table: InputTable, rows: int) -> None:
    """Raise InterchangeError if there are more than ROWS_MAX rows."""
    if rows > ROWS_MAX:
        raise InterchangeError([Problem(table.name, None, None, f"has {rows} rows; at most {ROWS_MAX} are allowed")])


def checked_rows(table: InputTable, rows: Sequence[Row], *, minute_zero: datetime | None = None) -> list[Row]:
    """Return the rows in the same order, with every column present and checked. Raises InterchangeError.

    minute_zero  time of minute 0, if times are given in minutes (`start_minute` for `start`), as in world folders
    """
    problems = Problems()
    require_few(table, len(rows))
    if table.one_row and len(rows) != 1:
        raise InterchangeError([Problem(table.name, None, None, f"has one row; these are {len(rows)}")])
    known, seen = table.known, set()
    found: list[Row] = []
    for number, row in enumerate(rows):
        if problems.full:  # no further problem is reported, and each costs a search for the nearest name
            break
        given = _with_times(table, row, number, minute_zero, problems)
        for name in given.keys() - known.keys():
            message = f"there is no such column: {hint(str(name), known)}"
            problems.add(table.name, message, row=number, field=str(name)[:100])
        found.append({column.name: _cell(table, column, given, number, problems) for column in table.columns})
        for before, after in pairwise(table.ascending):
            first, then = found[-1][before], found[-1][after]
            if first is not None and then is not None and then < first:
                problems.add(table.name, f"is before {before}", row=number, field=after)
        key = tuple(found[-1][name] for name in table.key)
        if table.key and key in seen:
            problems.add(table.name, "appears twice: " + ", ".join(map(str, key)), row=number, field=table.key[-1])
        seen.add(key)
    problems.raise_any()
    return found


def in_order(table: InputTable, rows: Sequence[Row]) -> list[Row]:
    """Return checked rows sorted by their key and then by the other columns, so that equal tables give equal lists."""
    order = (*table.key, *(name for name in table.known if name not in table.key))
    return sorted(rows, key=lambda row: [(row[name] is not None, row[name] or 0) for name in order])


def _with_times(
    table: InputTable, row: Row, number: int, minute_zero: datetime | None, problems: Problems
) -> Mapping[str, Any]:
    given = dict(row)
    for column in table.columns:
        minutes = f"{column.name}_minute"
        if column.kind is ColumnKind.TIME and given.get(column.name) is None and minutes in given:
            at = _number(given.pop(minutes))
            if at is None or not math.isfinite(at) or abs(at) > 1e9:
                problems.add(table.name, "is not a number of minutes", row=number, field=minutes)
            elif minute_zero is None:
                problems.add(table.name, "say when minute 0 was: minute_zero", row=number, field=minutes)
            else:
                try:
                    given[column.name] = minute_zero + timedelta(minutes=at)
                except OverflowError:
                    problems.add(table.name, "is no moment of the years 1 to 9999", row=number, field=minutes)
    return given


def _cell(table: InputTable, column: InputColumn, row: Mapping[str, Any], number: int, problems: Problems) -> object:
    given = row.get(column.name)
    if given is None or given == "":
        if not column.optional:
            problems.add(table.name, "is missing", row=number, field=column.name)
        return None
    value, message = _value(column, given)
    if message:
        problems.add(table.name, message, row=number, field=column.name)
    return value


def _value(column: InputColumn, given: object) -> tuple[object, str]:
    """Return the value and the error message; the message is empty if the value is right."""
    shown = repr(given)[:80]
    if column.kind is ColumnKind.NAME:
        if not isinstance(given, str):
            return None, f"{shown} is not a name"
        if len(given) > NAME_CHARACTERS_MAX or not given.isprintable():
            return None, f"is longer than {NAME_CHARACTERS_MAX} characters, or holds characters that do not print"
        return given, ""
    if column.kind is ColumnKind.FLAG:
        flag = _FLAGS.get(str(int(given) if isinstance(given, bool | float) and given in (0, 1) else given).lower())
        return flag, "" if flag is not None else f"{shown} is neither 0 nor 1"
    if column.kind is ColumnKind.TIME:
        return _moment(given, shown)
    number = _number(given)
    if number is None or not math.isfinite(number):
        return None, f"{shown} is not a finite number"
    if not column.least <= number <= column.most:
        return None, f"{shown} is not {_range(column)}"
    if column.whole:
        return int(number), "" if number == int(number) else f"{shown} is not a whole number"
    return number, ""


def _moment(given: object, shown: str) -> tuple[object, str]:
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else given
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.astimezone(UTC), ""
    except (ValueError, OverflowError):  # the last hours of the year 9999 are past it in UTC
        pass
    return None, f"{shown} is not a moment with its time zone, such as 2026-11-02T08:00:00Z"


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        return float(given)
    except (ValueError, OverflowError):
        return None


def _range(column: InputColumn) -> str:
    if math.isinf(column.most):
        return f"at least {column.least:g}"
    return f"from {column.least:g} to {column.most:g}"
