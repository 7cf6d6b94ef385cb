"""Run the benchmarks of the assignment library on tiny problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.pop import bench_pop
from benchmarks.rivals import solve_with_highs
from benchmarks.solve import bench_solve
from benchmarks.solvers import table_of
from libs.assignment import Limits
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.replay.file import Replay, save_replay
from libs.assignment.solvers.mip import solve_mip


def crowd() -> Problem:
    problem = Problem(objects=120, containers=8, initial=np.arange(120) % 4)
    problem.add_dimension("cpu", 1.0 + np.arange(120) % 3, containers=np.full(8, 34.0))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(dimension="cpu"), normalise=False)
    return problem


@pytest.fixture(scope="module")
def word(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "crowd.npz"
    save_replay(path, Replay(problem=crowd(), solver="local", limits=Limits(), seed=0))
    return f"replay:{path}"


def test_highs_on_its_own_finds_what_the_mip_solver_finds() -> None:
    problem = crowd()
    ours, plain = solve_mip(problem), solve_with_highs(problem, Limits(time_s_max=60.0))
    assert plain.objective[1] == pytest.approx(ours.objective[1], rel=1e-3)
    assert plain.broken[1] == ours.broken[1] == 0
    assert plain.bound[1] <= plain.objective[1][0] + 1e-6


def test_one_run_says_what_it_took(word: str) -> None:
    said = bench_solve([word, "--solver", "mip", "--time-limit", "60"])
    assert said["broken"] == 0
    assert said["objective"] == pytest.approx(said["bound"], rel=1e-3)
    assert {"solve_s", "build_s", "cpu_s", "peak_mib"} <= set(said)
    assert (said["limit_s"], said["kept"]) == (60.0, said["wall_s"] <= 68.0)


def test_parts_are_compared_with_the_whole(word: str) -> None:
    said = bench_pop([word, "--parts", "1,2", "--solver", "local", "--tries", "40000"])
    assert [run["parts"] for run in said["runs"]] == [1, 2]
    assert all(run["broken"] == 0 for run in said["runs"])
    assert said["runs"][0]["gain_kept"] in (1.0, None)


def test_the_table_has_a_row_for_each_run_also_for_one_that_failed() -> None:
    good = {
        "problem": f"region:{Path('a') / 'r1'}",
        "solver": "mip",
        "limit_s": 0.5,
        "wall_s": 1.0,
        "kept": True,
        "cpu_s": 2.0,
        "peak_mib": 3.0,
        "objective": 12.5,
        "gap": 0.012,
        "moved": 5,
        "over_best": 0.0,
    }
    stays = good | {"solver": "cpsat", "moved": 0, "kept": False, "limit_s": None}
    table = table_of([good, stays, {"problem": "region:r1", "solver": "price", "failed": "ModelError: no"}])
    assert "| r1 | mip | 0.5 | 1.0 | yes | 2.0 | 3 | 12.5 | 1.20% | 0.00% |" in table
    assert "| r1 | cpsat | none | 1.0 | no | 2.0 | 3 | nothing better than the start |  |  |" in table
    assert "| r1 | price | ModelError: no |" in table
