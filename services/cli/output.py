"""What a command prints: a table for people, JSON for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

stdout = Console()
stderr = Console(stderr=True)


class Output(StrEnum):
    """How to print."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json for programs")]


def print_json(document: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, right: Collection[str] = ()) -> None:
    """A table; `columns` maps a heading to the dotted path of its value. Those of `right` are set to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns:
        table.add_column(heading, overflow="fold", justify="right" if heading in right else "left")
    for row in rows:
        table.add_row(*(_text(_at(row, path)) for path in columns.values()))
    stdout.print(table)


def print_document(document: Mapping[str, Any]) -> None:
    """One document, a line per value, nested ones indented."""
    for line in _lines(document, ""):
        stdout.print(line, highlight=False, markup=False)


def _lines(value: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            lines += [f"{indent}{name}:", *_lines(inner, indent + "  ")]
        elif isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
            lines.append(f"{indent}{name}:")
            for item in inner:
                first, *rest = _lines(item, indent + "    ")
                lines += [f"{indent}  - {first.strip()}", *rest]
        else:
            lines.append(f"{indent}{name}: {_text(inner)}")
    return lines


def _at(row: Mapping[str, Any], path: str) -> object:
    """The value at a dotted path, of each item where it leads through a list; % at its end shows a fraction as such."""
    value: Any = row
    for name in path.removesuffix("%").split("."):
        if isinstance(value, list):
            value = [_at(item, name) for item in value]
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return percent(value) if path.endswith("%") and isinstance(value, float) else value


def percent(fraction: float) -> str:
    """A fraction for people."""
    return f"{fraction:.2%}"


def _text(value: object) -> str:
    if value is None or value == {} or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and 0 < abs(value) < 1:
        return f"{value:.3g}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and _TIME.fullmatch(value):
        return value[:19].replace("T", " ")
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return str(value)
