"""Read the fields of a form. A field that cannot be read names itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

_LISTED = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|\Z)')
"""A name of a list, and the comma or the end after it."""


class WrongField(Exception):
    """A field of the form cannot be read."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


def read_number(form: Mapping[str, str], field: str, *, needed: bool = False) -> float | None:
    """Return the number of a field; None if it is empty. Raises WrongField."""
    text = form.get(field, "").strip()
    if not text:
        if needed:
            raise WrongField(field, "is required")
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):  # JSON has no nan and no inf
        raise WrongField(field, f"must be a number, not {text[:40]}")
    return value


def read_moment(form: Mapping[str, str], field: str) -> str:
    """Return a time of a form, which is in UTC, for the API. Raises WrongField."""
    try:
        return datetime.fromisoformat(form[field]).replace(tzinfo=UTC).isoformat()
    except ValueError as error:
        raise WrongField(field, "must be a date and a time, such as 2026-12-31T18:00") from error


def read_names(text: str) -> list[str]:
    """Return the names of a list with commas between them. A name in quotes may have commas, and each " twice."""
    found = (quoted.replace('""', '"') or plain for quoted, plain in _LISTED.findall(text))
    return [name for one in found if (name := one.strip())]


def names_text(names: Iterable[str]) -> str:
    """Return the list of some names, the inverse of `read_names`."""
    return ", ".join('"' + name.replace('"', '""') + '"' if {*name} & {*',"'} else name for name in names)
