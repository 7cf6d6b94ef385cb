"""Machine reassignment in specs agrees with an independent judge on cost and broken constraints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.roadef_all import bench_roadef_all, score
from benchmarks.roadef_model import load_roadef

pytestmark = pytest.mark.shared


@pytest.mark.parametrize("instance", ["a1_1", "a1_2", "a2_3", "a2_5"])
def test_the_judge_agrees_on_cost_and_on_what_is_broken(shared: Path, tmp_path: Path, instance: str) -> None:
    model, assignment = (shared / "data" / "roadef2012" / f"{kind}_{instance}.txt" for kind in ("model", "assignment"))
    problem = load_roadef(model, assignment)
    rng = np.random.default_rng(0)
    for moved in (0, 3, 60):
        final = problem.initial.copy()
        final[rng.integers(len(final), size=moved)] = rng.integers(len(problem.containers), size=moved)
        solution = tmp_path / "solution"
        solution.write_text(" ".join(map(str, final.tolist())))
        judge = [sys.executable, shared / "bench" / "roadef.py", model, assignment, solution]
        said = json.loads(subprocess.run(judge, capture_output=True, text=True, check=False).stdout)
        cost = sum(goal.weight / goal.scale * float(goal.cost.value(final)[0, 0]) for goal in problem.goals)
        assert cost == pytest.approx(said["cost"], abs=0.5)
        broken = any((part.value(final) > 0).any() for one in problem.constraints for part in one.excess)
        assert broken == bool(said["broken"])


def test_all_instances_are_scored_from_each_seed(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "roadef2012"
    options = ["--instances", "a1_1", "--seeds", "0,1", "--tries", "3000", "--threads", "1", "--time-limit", "1000"]
    said = bench_roadef_all([str(data), "--out", str(tmp_path), *options])
    assert [(run["instance"], run["seed"], run["broken"]) for run in said["runs"]] == [("a1_1", 0, 0), ("a1_1", 1, 0)]
    for run in said["runs"]:
        answer = tmp_path / f"a1_1_{run['seed']}.txt"
        judge = [sys.executable, shared / "bench" / "roadef.py", data / "model_a1_1.txt", data / "assignment_a1_1.txt"]
        told = json.loads(subprocess.run([*judge, answer], capture_output=True, text=True, check=True).stdout)
        assert run["objective"] == pytest.approx(told["cost"], abs=0.5)
    assert said["worst_score"] == max(run["score"] for run in said["runs"])
    assert score(120.0, {"best_known_unverified": "100", "initial_cost": "400"}) == 5.0
