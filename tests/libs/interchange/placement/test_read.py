"""Read placement folders, refuse bad ones in words, write answers, and judge them by the format's own script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.placement import bench_placement
from benchmarks.placement_model import placement_problem
from libs.interchange.files.errors import InterchangeError
from libs.interchange.placement.read import load_placement, save_placement

SERVERS = {"server": ["a", "b"], "shape": ["x", "y"], "cpu": [4.0, 8.0], "memory_gb": [8.0, 8.0], "gpu": [0.0, 1.0]}
TASKS = {
    "task": ["t0", "t1", "t2"],
    "job": ["j", "k", "j"],
    "priority": [1.0, 2.0, 8.0],
    "cpu": [1.0, 2.0, 3.0],
    "memory_gb": [2.0, 2.0, 2.0],
    "gpu": [0.0, 1.0, 0.0],
}


def folder(where: Path, *, servers: dict = SERVERS, tasks: dict = TASKS, policy: object = None) -> Path:
    pq.write_table(pa.table(servers), where / "servers.parquet")
    pq.write_table(pa.table(tasks), where / "tasks.parquet")
    (where / "policy.json").write_text(json.dumps({"job_tasks_per_server": 1} if policy is None else policy))
    return where


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    found = load_placement(folder(tmp_path))
    assert found.server_name.tolist() == SERVERS["server"]
    assert found.capacity.tolist() == [[4.0, 8.0, 0.0], [8.0, 8.0, 1.0]]
    assert found.need[1].tolist() == [2.0, 2.0, 1.0]
    assert found.job_name[found.job].tolist() == TASKS["job"]
    assert found.priority.tolist() == TASKS["priority"]
    assert found.job_tasks_per_server == 1
    save_placement(tmp_path / "out.parquet", found, np.array([1, -1, 0]))
    table = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert table == {"task": ["t0", "t1", "t2"], "server": ["b", None, "a"]}


def test_no_limit_on_jobs(tmp_path: Path) -> None:
    found = load_placement(folder(tmp_path, policy={"job_tasks_per_server": None}))
    assert found.job_tasks_per_server is None
    assert len(placement_problem(found).constraints) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tasks": {**TASKS, "task": ["t0", "t0", "t2"]}}, "tasks.parquet, task, row 1: this task appears twice"),
        ({"servers": {**SERVERS, "cpu": [1.0, -1.0]}}, "servers.parquet, cpu, row 1: is less than 0"),
        ({"tasks": {**TASKS, "gpu": [0.0, float("nan"), 0.0]}}, "tasks.parquet, gpu, row 1: is not a finite number"),
        ({"tasks": {k: v for k, v in TASKS.items() if k != "job"}}, "tasks.parquet, job: the column is missing"),
        ({"policy": {}}, "policy.json, job_tasks_per_server: is missing"),
        ({"policy": {"job_tasks_per_server": 0}}, "policy.json, job_tasks_per_server: is neither null"),
        ({"policy": {"job_tasks_per_server": True}}, "policy.json, job_tasks_per_server: is neither null"),
        ({"policy": []}, "policy.json, job_tasks_per_server: is missing"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changed: dict, message: str) -> None:
    with pytest.raises(InterchangeError, match=message):
        load_placement(folder(tmp_path, **changed))


@pytest.mark.shared
@pytest.mark.parametrize(("flags", "short"), [((), 0.025), (("--replicas",), 0.035), (("--gpu",), 0.03)])
def test_the_judge_finds_nothing_wrong_and_little_missing(
    shared: Path, tmp_path: Path, flags: tuple[str, ...], short: float
) -> None:
    judge, vms = shared / "bench" / "placement.py", shared / "data" / "azure_vm_2017" / "vms_dev.csv.gz"

    def judged(*arguments: object) -> dict:
        said = subprocess.run([sys.executable, judge, *map(str, arguments)], capture_output=True, text=True, check=True)
        return json.loads(said.stdout or "{}")

    where, out = tmp_path / "folder", tmp_path / "placement.parquet"
    judged("generate", vms, where, "--servers", 100, "--tasks", 4000, "--seed", 77, *flags)
    printed = bench_placement([str(where), "--out", str(out), "--solver", "price"])
    score, bound = judged("score", where, out), judged("bound", where)["bound"]
    assert score["errors"] == []
    assert score["objective"] == pytest.approx(printed["objective"])
    assert printed["bound"] >= bound - 1e-3
    assert score["objective"] >= (1 - short) * bound
