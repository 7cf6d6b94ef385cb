"""Turn a set of planning inputs into a source of world files, and check the set as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq

from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.files.tables import Content
from libs.interchange.planning_inputs.formats import stored_rows
from libs.interchange.planning_inputs.rows import Row
from libs.interchange.planning_inputs.tables import REQUIRED
from libs.interchange.world.overrides import FIELDS
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import load_cost_models, load_vocabulary
from libs.interchange.world.service_reservations import load_service_reservations

_NOT_TABLES = ("policy", "events", "server_units", "deliveries")
"""Inputs that are not tables of a world. A world has policy as JSON, and the reader of measurements uses events. The
supply of a world already has what the others say.
"""


def source_of(
    contents: Mapping[str, bytes], overrides: Sequence[Row] = (), *, policy: Mapping[str, float] | None = None
) -> dict[str, Content]:
    """Return the files of a world by name, without measurements. `contents` maps the name of each planning input to its
    content.

    overrides  rows of the table `overrides`
    policy     coefficients for which the input `policy` states no value
    """
    source: dict[str, Content] = {f"{name}.parquet": c for name, c in contents.items() if name not in _NOT_TABLES}
    [row] = stored_rows(contents["policy"]) if "policy" in contents else [{}]
    stated = {name: value for name, value in row.items() if value is not None}
    source["policy.json"] = json.dumps({**(policy or {}), **stated}).encode()
    if overrides:
        types = {"name": pa.string(), "number": pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in FIELDS.items()])
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(list(overrides), schema), sink)
        source["overrides.parquet"] = sink.getvalue().to_pybytes()
    return source


def missing_inputs(contents: Mapping[str, bytes]) -> list[str]:
    """Return the names of the required inputs that are missing."""
    return [name for name in REQUIRED if name not in contents]


def problems_of(contents: Mapping[str, bytes], overrides: Sequence[Row] = ()) -> list[Problem]:
    """Return the problems that make a plan refuse these inputs; `file` is the input's name.

    The check uses the readers of a plan. It returns no problems while a required input is missing, because other inputs
    refer to that input.
    """
    if missing_inputs(contents):
        return []
    source = source_of(contents, overrides)
    try:
        words = load_vocabulary(source)
        load_planning_inputs(source, words)
        load_cost_models(source, words)
        load_service_reservations(source, words)
    except InterchangeError as error:
        return [Problem(p.file.rsplit(".", 1)[0], p.row, p.field, p.message) for p in error.problems]
    return []


def event_minutes(contents: Mapping[str, bytes], zero: datetime) -> tuple[list[float], list[float]]:
    """Return the starts and ends of drains and load tests, in minutes since `zero`."""
    rows = stored_rows(contents["events"]) if "events" in contents else []

    def minutes(key: str) -> list[float]:
        return [(row[key] - zero).total_seconds() / 60 for row in rows]

    return minutes("start"), minutes("end")
