"""Tables whose filter and order are in the URL, and the same rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.parts.words import aligned, shell_line

ROWS_MAX = 100
"""Largest number of rows on a page, so that a page of a large fleet stays small. CSV has all of them."""
NAME_MAX = 36
"""Characters of a name that stays in one line."""
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

    def cells(self, rows: Sequence[Any]) -> list[object]:
        """Return the contents of the cells of rows."""
        if self.show is not None:
            contents: Sequence[object] = [self.show(row) for row in rows]
        elif self.number:
            contents = aligned([self.value(row) for row in rows])
        else:
            contents = [self.value(row) for row in rows]
        return [Markup('<span class="none">–</span>') if one in (None, "") else one for one in contents]


def is_name(cell: object) -> bool:
    """Return whether the content of a cell is a name with hyphens, at which it must not go on in a second line."""
    if not isinstance(cell, str) or "-" not in cell:
        return False
    text = cell.striptags() if isinstance(cell, Markup) else cell
    return "-" in text and " " not in text and len(text) <= NAME_MAX


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter with fixed values: its name in the URL, its label, and its values with their words."""

    key: str
    title: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A filter that a person types: its name in the URL, its label, and the kind of its input."""

    key: str
    title: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Pager:
    """The place of the shown rows.

    first, last          numbers of the first and the last shown row among the found ones, from 1
    first_url, next_url  addresses of the first and of the next rows; "" for none
    """

    first: int
    last: int
    first_url: str
    next_url: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows in the order that the URL asks for. Ties keep the order of the rows, so a row never moves by itself.

    Lists of the API come in parts. A table has one part, and shows its rows in pages of ROWS_MAX. One link leads to the
    next page, or from the last page to the next part.

    key           prefix of its parameters in the URL, for a second table of a page; "" for the first one
    path, query   the page's own address, and the parameters of this request
    choices       filters with fixed values; the view applies them
    fields        filters that a person types; the view applies them
    also          further parameters of the URL that leave rows out
    searched      whether `q` filters by text; the table applies it to all values
    empty         a sentence for a table without rows, which says what to do
    order         what `sort` is without it in the URL
    ordered       whether the rows are in the asked order already, and a cursor belongs to one order
    cut           a sentence about rows that were not read; "" if all were
    next_cursor   the API's cursor of the next part; None: there is none
    act           the link of a row to a form about it; None: rows have none
    trouble       why the API told no rows; "" if it told them
    command       the arguments of the `plimsoll` line that tells the same; (): that of the page
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    path: str
    query: Mapping[str, str]
    empty: str
    choices: Sequence[Choice] = ()
    fields: Sequence[Field] = ()
    also: Sequence[str] = ()
    searched: bool = True
    order: str = ""
    ordered: bool = False
    cut: str = ""
    key: str = ""
    next_cursor: str | None = None
    act: Callable[[Any], Markup] | None = None
    command: Sequence[str] = ()
    trouble: str = ""

    def parameter(self, name: str) -> str:
        """Return the name in the URL of a parameter of this table: q, sort, page, or after."""
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

    @cached_property
    def found(self) -> list[Any]:
        """All rows that pass the text filter, in order. Missing values come last."""
        words = self.text.casefold().split() if self.searched else []
        rows = [row for row in self.rows if all(word in self._searchable(row) for word in words)]
        key, down = self.sort
        column = next((c for c in self.columns if c.key == key), None)
        if column is None or self.ordered:
            return rows
        known = [row for row in rows if column.value(row) is not None]
        unknown = [row for row in rows if column.value(row) is None]
        return [*sorted(known, key=column.value, reverse=down), *unknown]

    @property
    def page(self) -> int:
        """The number of the page of found rows, from 1."""
        asked = self.query.get(self.parameter("page"), "")
        last = max(1, -(-len(self.found) // ROWS_MAX))
        return min(max(1, int(asked)), last) if asked.isdecimal() and len(asked) < 10 else 1

    @property
    def shown(self) -> list[Any]:
        """The rows of the page."""
        return self.found[(self.page - 1) * ROWS_MAX :][:ROWS_MAX]

    @property
    def lines(self) -> list[tuple[Any, list[tuple[Column, object]]]]:
        """The rows of the page, each with its columns and the contents of their cells."""
        rows = self.shown
        contents = zip(*(column.cells(rows) for column in self.columns), strict=True)
        return [(row, list(zip(self.columns, cells, strict=True))) for row, cells in zip(rows, contents, strict=True)]

    @property
    def partial(self) -> bool:
        """Whether the list of the API has other parts."""
        return self.next_cursor is not None or self.parameter("after") in self.query

    @property
    def pager(self) -> Pager | None:
        """The place of the shown rows; None if they are all."""
        page, after = self.parameter("page"), self.parameter("after")
        begin = (self.page - 1) * ROWS_MAX
        end = min(begin + ROWS_MAX, len(self.found))
        if end < len(self.found):
            next_url = self.url(**{page: str(self.page + 1)})
        else:
            next_url = "" if self.next_cursor is None else self.url(**{page: None, after: self.next_cursor})
        first_url = self.url(**{page: None, after: None}) if begin or after in self.query else ""
        return Pager(begin + 1, end, first_url, next_url) if first_url or next_url else None

    @property
    def own_names(self) -> frozenset[str]:
        """The parameters that its form sends by itself, or leaves out because other filters give other rows."""
        own = (self.parameter(name) for name in ("q", "page", "after"))
        return frozenset({*own, "format", "table", *self.filter_keys})

    @property
    def filter_keys(self) -> frozenset[str]:
        """The parameters of filters that the form shows."""
        return frozenset({*(one.key for one in self.choices), *(one.key for one in self.fields)})

    @property
    def filtered(self) -> bool:
        """Whether a filter may hide rows."""
        return bool(self.text) or any(self.query.get(key) for key in self.filter_keys | {*self.also})

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
        sort = f"-{column.key}" if turned else column.key
        from_begin = {self.parameter("after"): None} if self.ordered else {}
        return self.url(**{self.parameter("sort"): sort, self.parameter("page"): None, **from_begin})

    @property
    def command_line(self) -> str:
        """The command as people copy it; "" if it has none of its own."""
        return shell_line(self.command) if self.command else ""

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
