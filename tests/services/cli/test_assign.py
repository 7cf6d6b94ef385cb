"""Solve a replay file of the assignment library from the command line."""

import io
import json
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from libs.assignment import (
    BalanceSpec,
    CapacitySpec,
    Limits,
    MinimizeMovementSpec,
    Problem,
    Progress,
    Replay,
    load_replay,
    save_replay,
)
from services.cli.assign.solve import _showing
from services.cli.main import main


@dataclass
class Done:
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """The command as a shell starts it."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["plimsoll", "assign", "solve", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return Done(left.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def file(tmp_path):
    """Twelve tasks on one of three hosts with room for six each."""
    problem = Problem(
        objects=[f"task-{k}" for k in range(12)], containers=["a", "b", "c"], initial=np.zeros(12, dtype=int)
    )
    problem.add_dimension("cpu", 1 + np.arange(12) % 2, containers=[6, 6, 6])
    problem.add_constraint(CapacitySpec(name="fits", dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec())
    problem.add_goal(BalanceSpec(dimension="cpu", formula="SQUARES"), priority=1)
    save_replay(tmp_path / "solve.npz", Replay(problem=problem, solver="local", limits=Limits(tries_max=2_000), seed=3))
    return tmp_path / "solve.npz"


def test_a_file_is_solved_as_it_says_and_shown_by_spec(run, file):
    done = run(file)
    assert done.exit_code == 0, done.stderr
    assert "12 objects, 3 containers; solved by local" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["name", "kind", "priority", "weight", "before", "after", "broken"] in lines
    [fits] = [line for line in lines if "'fits'" in line]
    assert fits[-3:] == ["12", "0", "no"]


def test_another_solver_limit_and_objective_are_taken(run, file, tmp_path):
    done = run(
        file, "--solver", "mip", "--time-limit", 30, "--objective", "sum", "--seed", 1, "--output", "json",
        "--out", tmp_path / "answer.parquet",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["solver"], said["seed"], said["gap"]) == ("mip", 1, 0.0)
    assert [one["level"] for one in said["levels"]] == ["broken", "priority 0"]
    assert [one["name"] for one in said["specs"]] == ["CapacitySpec 'fits'", "MinimizeMovementSpec", "BalanceSpec"]
    answer = pq.read_table(tmp_path / "answer.parquet").to_pylist()
    moved = {one["object"]: one["to"] for one in said["moves"]}
    assert {one["object"]: one["container"] for one in answer if one["container"] != "a"} == moved
    assert len(answer) == 12


def test_the_whole_answer_can_be_written_as_json(run, file, tmp_path):
    done = run(file, "--solver", "mip", "--out", tmp_path / "answer.json")
    assert f"written to {tmp_path / 'answer.json'}" in done.stdout.replace("\n", "")
    assert "from the best possible" not in done.stdout, "it is the best"
    said = json.loads((tmp_path / "answer.json").read_text())
    assert set(said["assignment"]) == set(load_replay(file).problem.objects.names)
    assert said["levels"][0]["after"] == 0


def test_what_cannot_be_done_is_an_error_with_its_reason(run, file, tmp_path):
    for arguments, said in (
        ([file, "--solver", "locl"], "no solver named 'locl'; did you mean 'local'?"),
        ([file, "--solver", "price"], "price"),
        ([tmp_path / "none.npz"], "not a replay file"),
        ([file, "--out", tmp_path / "answer.csv"], "expected a name that ends in .parquet or .json"),
    ):
        done = run(*arguments)
        assert done.exit_code == 1
        assert said in done.stderr.replace("\n", "")
        assert not done.stdout


def test_progress_is_shown_on_a_terminal_alone():
    with _showing(Console(file=io.StringIO())) as heard:
        assert heard is None
    shown = io.StringIO()
    with _showing(Console(file=shown, force_terminal=True, width=100)) as heard:
        heard(Progress(time_s=1.0, level=0, value=3.0))
        heard(Progress(time_s=2.0, level=2, value=1234.5, bound=1000.0))
    assert "priority 1" in shown.getvalue()
    assert "1,234.5, at least 1,000" in shown.getvalue()
