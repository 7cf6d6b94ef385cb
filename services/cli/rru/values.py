"""Read the RRUs of a class from arguments and files."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from services.cli.failure import CliFailure
from services.cli.specs import number_of

BYTES_MAX = 4 << 20
"""Largest file of values, in bytes."""


def values_of(texts: Sequence[str]) -> dict[str, float]:
    """Return hardware type -> RRU of arguments of the form TYPE=RRU. Raises BadParameter."""
    found = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        if not name or not separator:
            raise typer.BadParameter(f"{text!r}: write TYPE=RRU, such as hw-01=1.5")
        found[name] = number_of(value, float, "TYPE=RRU", "TYPE=RRU, such as hw-01=1.5")
    return found


def filters_of(texts: Sequence[str]) -> dict[str, set[str]]:
    """Return column -> wanted values of arguments of the form COLUMN=VALUE. Raises BadParameter."""
    found: dict[str, set[str]] = {}
    for text in texts:
        column, separator, value = text.partition("=")
        if not column or not separator:
            raise typer.BadParameter(f"{text!r}: write COLUMN=VALUE, such as unit=TPS", param_hint="--where")
        found.setdefault(column, set()).add(value)
    return found


def significant(value: float) -> float:
    """Return a value rounded to 4 significant digits: more than any measurement has."""
    return float(f"{value:.4g}")


def read_values(path: Path, name: str) -> dict[str, float]:
    """Return hardware type -> RRU of the class `name`, from a file.

    JSON is one object of values, one version of a class, or the output of `rru list -o json`. CSV has the columns
    `hardware_type` and `rru`, and may have `class`. Raises CliFailure that names the file and what is wrong.
    """
    try:
        if path.stat().st_size > BYTES_MAX:
            raise CliFailure(f"{path} is larger than {BYTES_MAX >> 20} MiB")
        text = path.read_text()
        found = _of_csv(text, name) if path.suffix == ".csv" else _of_json(json.loads(text), name)
        return {str(key): float(value) for key, value in found.items()}
    except OSError as error:
        raise CliFailure(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CliFailure(f"{path} has no values of class {name}: {error}") from error


def _of_csv(text: str, name: str) -> Mapping[str, str]:
    rows = list(csv.DictReader(text.splitlines()))
    mine = [row for row in rows if row.get("class", name) == name]
    if not mine:
        raise ValueError("it needs rows with the columns hardware_type and rru")
    return {row["hardware_type"]: row["rru"] for row in mine}


def _of_json(document: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("it must be an object")
    if "items" in document:
        [document] = [one for one in document["items"] if one["workload_class"] == name]
    values = document.get("rru", document)
    if not isinstance(values, dict) or not values:
        raise ValueError("it must have hardware types with numbers")
    return values
