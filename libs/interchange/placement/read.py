"""Read the placement folder of the interchange format, and write its answer: a server for each task."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Floats, Ints, Names
from libs.interchange.files.atomic import replacing
from libs.interchange.files.bounds import parse_json, read_json
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source, Table, open_file

POLICY = "policy.json"
RESOURCES = ("cpu", "memory_gb", "gpu")
"""Columns of both tables: the need of a task and the capacity of a server."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementFolder:
    """S servers with shapes, and T tasks in J jobs.

    server_name      (S,) str
    shape            (S,) str
    capacity         (S, 3) float  cpu, GB of memory, GPUs
    task_name        (T,) str
    job_name         (J,) str
    job              (T,) int      the job of each task
    priority         (T,) float    value of placing the task
    need             (T, 3) float  cpu, GB of memory, GPUs
    job_tasks_per_server  int | None  most tasks of one job on a server; None: no limit
    """

    server_name: Names
    shape: Names
    capacity: Floats
    task_name: Names
    job_name: Names
    job: Ints
    priority: Floats
    need: Floats
    job_tasks_per_server: int | None


def load_placement(source: Source) -> PlacementFolder:
    """Read and check a folder, or the content of each file by name.

    Raises InterchangeError with up to 20 problems.
    """
    problems = Problems()
    servers = Table(source, "servers.parquet", problems, fields={"server", "shape", *RESOURCES})
    tasks = Table(source, "tasks.parquet", problems, fields={"task", "job", "priority", *RESOURCES})
    server, task, job = servers.strings("server"), tasks.strings("task"), tasks.strings("job")
    servers.unique("server", server.codes, "this server")
    tasks.unique("task", task.codes, "this task")
    found = PlacementFolder(
        server_name=server.names,
        shape=servers.strings("shape").names,
        capacity=np.stack([servers.numbers(field) for field in RESOURCES], axis=1),
        task_name=task.names,
        job_name=job.values[:-1],
        job=job.codes,
        priority=tasks.numbers("priority"),
        need=np.stack([tasks.numbers(field) for field in RESOURCES], axis=1),
        job_tasks_per_server=_limit(source, problems),
    )
    problems.raise_any()
    return found


def save_placement(path: str | os.PathLike[str], folder: PlacementFolder, server: Ints) -> None:
    """Write columns task and server (null: not placed) atomically; `server` (T,) is an index, or -1 for none."""
    names = pa.array(folder.server_name, pa.string())
    where = pa.array(np.maximum(server, 0), mask=server < 0)
    table = pa.table({"task": pa.array(folder.task_name, pa.string()), "server": names.take(where)})
    with replacing(Path(path)) as stream:
        pq.write_table(table, stream, compression="zstd")


def _limit(source: Source, problems: Problems) -> int | None:
    with open_file(source, POLICY) as stream:
        try:
            policy = parse_json(read_json(stream, POLICY))
        except ValueError as error:
            raise InterchangeError([Problem(POLICY, None, None, f"is not JSON: {error}")]) from error
    field = "job_tasks_per_server"
    limit = policy.get(field) if isinstance(policy, dict) else None
    if not isinstance(policy, dict) or field not in policy:
        problems.add(POLICY, "is missing", field=field)
    elif limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        problems.add(POLICY, "is neither null nor a whole number of at least 1", field=field)
    return limit if isinstance(limit, int) else None
