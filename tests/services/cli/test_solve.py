import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from libs.domain.violation import Violation
from libs.interchange.bundles.solve import bundle_of, save_bundle
from libs.interchange.region.read import load_region
from libs.interchange.region.write import image_of, save_region
from services.cli.main import main
from tests.builders.random_region import random_region


@pytest.fixture
def folder(tmp_path):
    save_region(image_of(random_region(np.random.default_rng(1), 60, 4)), tmp_path / "region")
    return tmp_path / "region"


@dataclass
class Done:
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys):
    """The command as a shell starts it, with the exit status of `main` after a failure."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["plimsoll", "solve", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return Done(left.value.code or 0, *capsys.readouterr())

    return run


def test_a_region_is_solved_and_reported(run, folder, tmp_path):
    done = run(folder, "--out", tmp_path / "a.parquet", "--report", tmp_path / "r.json", "--output", "json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert report == json.loads((tmp_path / "r.json").read_text())
    assert report["servers"] == 60
    assert 0 <= report["waves"]["needs_approval"] <= report["waves"]["moves"] > 0
    assert report["waves"]["faults"] == []
    assert report["lower_bound"] <= report["total_without_rack"] + 1e-6
    written = pq.read_table(tmp_path / "a.parquet").to_pydict()
    snapshot = load_region(folder).snapshot
    assert written["server"] == snapshot.servers.name.tolist()
    assert set(written["reservation"]) <= {None, *snapshot.reservations.name}
    assert sum(name is not None for name in written["reservation"]) > 0


def test_the_region_of_the_page_is_solved(run, tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "interchange.md"
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(code, {})
    done = run("mine")
    assert "reservations short     0         2" in done.stdout
    assert "no better answer exists" in done.stdout
    (tmp_path / "mine" / "affinity.parquet").unlink()
    assert "affinity.parquet: is missing; all of servers.parquet, " in run("mine").stderr


def test_people_get_a_table(run, folder, tmp_path):
    done = run(folder, "--out", tmp_path / "a.parquet")
    assert done.exit_code == 0
    assert "as it is" in done.stdout


def test_a_bundle_repeats_a_solve(run, folder, tmp_path):
    snapshot = load_region(folder).snapshot
    save_bundle(
        bundle_of(snapshot, seed=3, limits={"neighbourhoods_max": 4, "exact_columns_max": 0}), tmp_path / "b.zip"
    )
    answers = []
    for out in ("one.parquet", "two.parquet"):
        assert run(tmp_path / "b.zip", "--out", tmp_path / out).exit_code == 0
        answers.append((tmp_path / out).read_bytes())
    assert answers[0] == answers[1]


def test_bad_input_ends_with_status_1_and_says_where(run, folder, tmp_path):
    (folder / "policy.json").write_text('{"spread_cost": NaN}')
    done = run(folder, "--out", tmp_path / "a.parquet")
    assert done.exit_code == 1
    assert "policy.json, spread_cost" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert run(tmp_path / "none").exit_code == 1
    assert not (tmp_path / "a.parquet").exists()


def test_bad_options_end_with_status_1(run, folder):
    assert run(folder, "--time-limit", "-1").exit_code == 1


def test_a_policy_that_pays_for_less_capacity_is_followed_and_warned_about(run, tmp_path):
    folder = tmp_path / "region"
    save_region(image_of(random_region(np.random.default_rng(2), 60, 4)), folder)
    policy = {"shortfall_cost": 0.1, "affinity_cost": 0, "buffer_cost": 50, "move_cost_idle": 0, "move_cost_in_use": 0}
    policy["fix_first"] = False
    (folder / "policy.json").write_text(json.dumps(policy))
    done = run(folder, "--out", tmp_path / "a.parquet")
    assert done.exit_code == 0
    assert "would be short of" in done.stderr


def test_a_plan_that_is_refused_ends_with_status_2(run, folder, tmp_path, monkeypatch):
    found = Violation(reason="Ineligible", message="server-1 may not be bound to web")
    monkeypatch.setattr("services.cli.solve.check_legal", lambda *_: [found])
    done = run(folder, "--out", tmp_path / "a.parquet")
    assert done.exit_code == 2
    assert "error: Ineligible: server-1 may not be bound to web" in done.stderr
    assert not (tmp_path / "a.parquet").exists()
