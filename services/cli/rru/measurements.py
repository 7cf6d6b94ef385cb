"""Read measured throughputs from a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from libs.ras.rru_fit import Measurement
from services.cli.failure import CliFailure

BYTES_MAX = 256 << 20
"""Largest file of measurements, in bytes."""


def read_measurements(
    path: Path,
    *,
    type_column: str,
    value_column: str,
    workload_columns: Sequence[str],
    where: Mapping[str, Collection[str]],
    lower_is_better: bool,
) -> list[Measurement]:
    """Return the measurements of a file.

    workload_columns   columns whose values together name a workload; none: all rows are of one workload
    where              column -> values; other rows are left out
    lower_is_better    True: the values are times; their inverses are throughputs

    Raises CliFailure that names the file, the line and the column.
    """
    found = []
    with _rows(path) as rows:
        for line, row in rows:
            _require(path, row, [type_column, value_column, *workload_columns, *where])
            if all(row[column] in values for column, values in where.items()):
                value = _number(path, line, value_column, row[value_column])
                found.append(
                    Measurement(
                        hardware_type=row[type_column],
                        workload=" ".join(row[column] for column in workload_columns),
                        throughput=1.0 / value if lower_is_better else value,
                    )
                )
    if not found:
        raise CliFailure(f"{path} has no row that --where lets through")
    return found


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[tuple[int, dict[str, str]]]]:
    """Yield the numbered rows of a CSV file, as column -> value."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise CliFailure(f"{path} is larger than {BYTES_MAX >> 20} MiB")
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            yield ((reader.line_num, row) for row in reader)
    except OSError as error:
        raise CliFailure(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CliFailure(f"{path} is no CSV file: {error}") from error


def _require(path: Path, row: Mapping[str, str], columns: Sequence[str]) -> None:
    for column in columns:
        if row.get(column) is None:
            there = ", ".join(str(name) for name in row if name)
            raise CliFailure(f"{path} has no column {column}, or a row without it; its columns are {there}")


def _number(path: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise CliFailure(f"{path}, line {line}: {column} {text!r} must be a positive number")
    return value
