"""Print the output of commands: a table for people, JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table

from libs.domain.words import counted

_PROSE_MIN = 24
"""Number of letters above which a text with spaces is prose. Tables wrap only prose."""
_PROSE_WIDTH_MIN = 30
_UNBOUNDED = 1_000_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

_NUMBER = re.compile(r"-|-?[\d,]+(\.\d+)?%?")

stdout = Console()
stderr = Console(stderr=True)


class Output(StrEnum):
    """The form of the output."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json for programs")]


def print_json(document: object) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def say(sentence: str) -> None:
    """Print sentences on standard output: wrapped between words on a terminal, unbroken for a program."""
    stdout.print(sentence, highlight=False, markup=False, soft_wrap=not stdout.is_terminal)


def note(sentence: str) -> None:
    """Print a sentence on standard error, because a person sees it there when standard output is redirected."""
    stderr.print(sentence, highlight=False, markup=False, soft_wrap=not stderr.is_terminal)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Print a table; `columns` maps a heading to the dotted path of its value. Numbers are aligned to the right.

    Names and numbers stay on one line, even if the row is wider than the terminal. Prose is wrapped. Headings take a
    line per word where the table is too wide otherwise. An empty table says that it is.
    """
    table = _table(rows, columns, str)
    if stdout.is_terminal and Measurement.get(stdout, _unbounded(), table).minimum > stdout.width:
        table = _table(rows, columns, lambda heading: heading.replace(" ", "\n"))
    measured = Measurement.get(stdout, _unbounded(), table)
    room = max(stdout.width, measured.minimum) if stdout.is_terminal else measured.maximum
    table.width = min(room, measured.maximum)
    with stdout.capture() as rendered:
        stdout.print(table, crop=False)
    for line in rendered.get().splitlines():
        stdout.out(line.rstrip(), highlight=False)
    if not rows:
        note("There are none.")


def _unbounded() -> ConsoleOptions:
    return stdout.options.update(max_width=_UNBOUNDED)


def _table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], shown: Callable[[str], str]) -> Table:
    """Return the table of `print_rows`. `shown` breaks a heading into its lines."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = []
    for heading, path in columns.items():
        values = [_at(row, path) for row in rows]
        texts = [text_of(value) for value in values]
        cells.append(texts)
        fewest = max(map(cell_len, (*shown(heading).split("\n"), *texts)))
        prose = [len(text) for text in texts if len(text) > _PROSE_MIN and " " in text]
        table.add_column(
            shown(heading),
            justify="right" if _are_numbers(values) else "left",
            no_wrap=not prose,
            overflow="fold",
            # Without its full width, a narrow terminal would cut off the ends of names.
            min_width=min(_PROSE_WIDTH_MIN, max(prose)) if prose else fewest,
        )
    for row_cells in zip(*cells, strict=True):
        table.add_row(*row_cells)
    return table


def print_document(document: Mapping[str, Any]) -> None:
    """Print one document, a line per value, with nested values indented."""
    for line in _lines(document, ""):
        if not stdout.is_terminal:
            stdout.out(line, highlight=False)
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        for part in wrap(line, stdout.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False):
            stdout.out(part, highlight=False)


def _lines(value: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            lines += [f"{indent}{name}:", *_lines(inner, indent + "  ")]
        elif isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
            lines += [f"{indent}{name}:", *_list_lines(inner, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {text_of(inner)}")
    return lines


def _list_lines(items: list[Mapping[str, Any]], indent: str) -> list[str]:
    """Return one line per item if no value is nested or prose, else several lines per item."""
    texts = [[text_of(value) for value in item.values()] for item in items]
    nested = any(isinstance(value, (Mapping, list)) and value for item in items for value in item.values())
    if nested or any(len(text) > _PROSE_MIN for row in texts for text in row) or len({*map(tuple, items)}) > 1:
        lines = []
        for item in items:
            first, *rest = _lines(item, indent + "  ")
            lines += [f"{indent}- {first.strip()}", *rest]
        return lines
    rows = [[str(name) for name in items[0]], *texts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _are_numbers(values: Sequence[object]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(
        (isinstance(value, (int, float)) and not isinstance(value, bool))
        or (isinstance(value, str) and _NUMBER.fullmatch(value))
        for value in given
    )


def _at(row: Mapping[str, Any], path: str) -> object:
    """Return the value at a dotted path. If a list is on the way, return one value per item. A final % shows a fraction
    as percent.
    """
    value: Any = row
    for name in path.removesuffix("%").split("."):
        if isinstance(value, list):
            value = [_at(item, name) for item in value]
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return percent(value) if path.endswith("%") and isinstance(value, float) else value


def percent(fraction: float) -> str:
    """Return a fraction as percent. A fraction below 1 never becomes 100 %."""
    text = f"{fraction:.2%}"
    return f"{min(fraction, 0.99999):.3%}" if text == "100.00%" and fraction < 1 else text


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun, such as `1 rack` or `2 racks`. Give `many` if the plural is not `one` and an s."""
    return counted(count, one, many or "")


_RESIDUE = 1e-9
"""Rounding of sums, such as 3.55e-15 RRU that are short. A table shows 0."""


def text_of(value: object) -> str:
    """Return a value as a table shows it."""
    if value is None or value == {} or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and 0.99 < value < 1:
        return f"{min(value, 0.99999):.5f}".rstrip("0")  # 0.9998 is a share that must not read 1
    if isinstance(value, float) and _RESIDUE < abs(value) < 1:
        return f"{value:.4g}"  # sentences have as many digits
    if isinstance(value, float):
        return "0" if abs(value) <= _RESIDUE else f"{value:,.2f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and _TIME.fullmatch(value):
        return value[:19].replace("T", " ") + "Z"
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text_of(inner)}" for name, inner in value.items())
    return str(value)
