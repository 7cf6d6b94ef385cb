"""Read a column of reservations.parquet with a JSON value per reservation, and say what is wrong with a value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np

from libs.domain.arrays import Ints
from libs.interchange.files.bounds import RepeatedKey, parse_json
from libs.interchange.files.errors import PROBLEMS_MAX
from libs.interchange.files.hints import hint
from libs.interchange.files.tables import Table

T = TypeVar("T")
_SHOWN_CHARACTERS = 100


class WrongValue(ValueError):
    """A value that has the form of its column, and still cannot be. The message says why."""


def unknown(noun: str, name: str, known: Collection[str]) -> WrongValue:
    """Return the error of a value that names something unknown, with the nearest known name."""
    return WrongValue(f"names the {noun} {name[:_SHOWN_CHARACTERS]!r}, which is unknown: {hint(name, known)}")


def read_json_column(
    table: Table, field: str, parse: Callable[[Any], T], absent: T, *, form: str, longest: int
) -> tuple[list[T], Ints]:
    """Return the distinct values of an optional column, and the place (R,) of each reservation's value among them.

    Wrong values are reported, and read as `absent`.

    parse    makes a value of the decoded JSON. Raises WrongValue with what is wrong, or any other ValueError if the
             JSON has another form
    absent   the value where the column, or a row of it, has none
    form     the form in words, for that error
    longest  most characters of a text
    """
    if not table.has(field):
        return [absent], np.zeros(len(table), np.int64)
    column = table.strings(field, nullable=True, longest=longest, is_name=False)
    used, value = np.unique(column.codes, return_inverse=True)  # a dictionary may hold texts that no row uses
    found, wrong = [absent] * (len(used) + 1), dict[str, list[int]]()  # never empty, so that its shape is known
    for row, given in enumerate(column.values[used]):
        if given is None:
            continue
        try:
            found[row] = parse(parse_json(given))
        except ValueError as error:
            wrong.setdefault(str(error) if isinstance(error, (WrongValue, RepeatedKey)) else form, []).append(row)
            if len(wrong) >= PROBLEMS_MAX:  # no further problem is reported, and each costs a look for the nearest name
                break
    for message, rows in wrong.items():
        table.bad_rows(np.isin(value, rows), field, message.replace("{", "{{").replace("}", "}}"))
    return found, value.astype(np.int64)
