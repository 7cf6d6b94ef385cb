"""Read uploaded tables of usage and traffic, CSV or Parquet, as series and samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from libs.domain.arrays import Ints, Names
from libs.domain.telemetry import Samples
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source
from libs.interchange.files.world_table import Kind, WorldTable

Series = list[tuple[str, ...]]
VALUE_MAX = 1e30
"""Largest value of a sample: a 32-bit float holds it, with room for sums."""


def load_usage(source: Source, *, minute_zero: int, first: int, end: int) -> tuple[Series, Samples]:
    """Return the series of `usage` as (service, region, hardware type), and their samples.

    minute_zero  minutes from 1970 to the file's minute 0
    first, end   minutes since 1970; samples from `first` on and before `end` are allowed

    Raises InterchangeError.
    """
    return _load(source, "usage", ("service", "region", "hardware_type"), "used", minute_zero, first, end)


def load_traffic(source: Source, *, minute_zero: int, first: int, end: int) -> tuple[Series, Samples]:
    """Return the series of `traffic` as (product, region), and their samples. Raises InterchangeError."""
    return _load(source, "traffic", ("product", "region"), "requests_per_s", minute_zero, first, end)


def _load(
    source: Source, name: str, names: Sequence[str], value: str, minute_zero: int, first: int, end: int
) -> tuple[Series, Samples]:
    problems = Problems()
    fields = {"minute": "number", **dict.fromkeys(names, "name"), value: "number"}
    table = WorldTable(source, name, problems, fields=cast(dict[str, Kind], fields))
    at = table.numbers("minute", least=-np.inf)
    columns = [table.codes(field) for field in names]
    found = table.numbers(value)
    table.bad_rows(found > VALUE_MAX, value, f"is more than {VALUE_MAX:g}")
    table.bad_rows(at != np.floor(at), "minute", "is not a whole number")
    problems.raise_any()
    minute = np.nan_to_num(at) + minute_zero
    table.bad_rows(minute < first, "minute", "is older than the retention; minute_zero says when minute 0 was")
    table.bad_rows(minute >= end, "minute", "is in the future; minute_zero says when minute 0 was")
    problems.raise_any()
    code = np.zeros(len(at), np.int64)
    for distinct, of in columns:
        code = code * max(1, len(distinct)) + of
    used, series = np.unique(code, return_inverse=True)
    return _names(used, [distinct for distinct, _ in columns]), Samples(
        series=series.astype(np.int64), minute=minute.astype(np.int64), value=found
    )


def _names(codes: Ints, columns: Sequence[Names]) -> Series:
    shape = [max(1, len(distinct)) for distinct in columns]
    at = np.unravel_index(codes, shape)
    return [tuple(str(columns[c][i]) for c, i in enumerate(row)) for row in zip(*at, strict=True)]
