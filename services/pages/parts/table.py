"""Tables whose filter and order are in the URL, and the same rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.parts.words import number

ROWS_MAX = 250
"""Largest number of rows on a page, so that a page of a large fleet stays small. CSV has all of them."""
_RISKY = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a text that begins with one of these for a formula."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    key      its name in the URL
    value    the value of a row: for sorting and CSV
    show     the content of a row's cell; None: the value
    number   whether the value is a number, to be aligned and written as one
    hint     a sentence about its title
    """

    key: str
    title: str
    value: Callable[[Any], Any]
    show: Callable[[Any], object] | None = None
    number: bool = False
    hint: str = ""

    def cell(self, row: Any) -> object:
        """Return the content of the cell of a row."""
        value = self.value(row)
        plain = number(value) if self.number else value
        shown = plain if self.show is None else self.show(row)
        return Markup('<span class="none">–</span>') if shown in (None, "") else shown


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter with fixed values: its name in the URL, its label, and its values with their words."""

    key: str
    title: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows in the order that the URL asks for. Ties keep the order of the rows, so a row never moves by itself.

    key           prefix of its parameters in the URL, for a second table of a page; "" for the first one
    path, query   the page's own address, and the parameters of this request
    choices       filters with fixed values; the view applies them
    searched      whether `q` filters by text; the table applies it to all values
    empty         a sentence for a table without rows, which says what to do
    cut           a sentence about rows that were not read; "" if all were
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    path: str
    query: Mapping[str, str]
    empty: str
    choices: Sequence[Choice] = ()
    searched: bool = True
    order: str = ""
    cut: str = ""
    key: str = ""

    def parameter(self, name: str) -> str:
        """Return the name in the URL of a parameter of this table: q or sort."""
        return f"{self.key}.{name}" if self.key else name

    @property
    def text(self) -> str:
        """The text to search for."""
        return self.query.get(self.parameter("q"), "").strip()

    @property
    def sort(self) -> tuple[str, bool]:
        """The key of the column to sort by, and whether it descends."""
        asked = self.query.get(self.parameter("sort"), self.order)
        key = asked.removeprefix("-")
        return (key, asked.startswith("-")) if any(c.key == key for c in self.columns) else ("", False)

    @property
    def found(self) -> list[Any]:
        """All rows that pass the text filter, in order. Missing values come last."""
        words = self.text.casefold().split() if self.searched else []
        rows = [row for row in self.rows if all(word in self._searchable(row) for word in words)]
        key, down = self.sort
        column = next((c for c in self.columns if c.key == key), None)
        if column is None:
            return rows
        known = [row for row in rows if column.value(row) is not None]
        unknown = [row for row in rows if column.value(row) is None]
        return [*sorted(known, key=column.value, reverse=down), *unknown]

    @property
    def shown(self) -> list[Any]:
        """The rows of the page."""
        return self.found[:ROWS_MAX]

    @property
    def own_names(self) -> frozenset[str]:
        """The parameters that its form sends by itself."""
        return frozenset({self.parameter("q"), "format", "table", *(choice.key for choice in self.choices)})

    @property
    def filtered(self) -> bool:
        """Whether a filter may hide rows."""
        return bool(self.text) or any(self.query.get(choice.key) for choice in self.choices)

    def _searchable(self, row: Any) -> str:
        return " ".join(str(column.value(row)) for column in self.columns).casefold()

    def url(self, **changes: str | None) -> str:
        """Return the page's address with other parameters. None removes one."""
        query = {**self.query, "format": None, "table": None, **changes}
        kept = {name: value for name, value in query.items() if value}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path

    def sort_url(self, column: Column) -> str:
        """Return the address that sorts by a column: ascending first, numbers descending first, then the other way."""
        key, down = self.sort
        first_down = column.number
        turned = not down if key == column.key else first_down
        return self.url(**{self.parameter("sort"): f"-{column.key}" if turned else column.key})

    @property
    def csv_url(self) -> str:
        """The address of its rows as CSV."""
        return self.url(format="csv", table=self.key)

    def csv(self) -> str:
        """Return all found rows as CSV with the columns' titles."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([column.title for column in self.columns])
        for row in self.found:
            writer.writerow([_plain(column.value(row)) for column in self.columns])
        return out.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, str) and value.startswith(_RISKY):
        return f"'{value}"
    return "" if value is None else value
