import json
import re
import time
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.power import PowerLimit
from libs.domain.reservation import ReservationSpec
from libs.domain.violation import Violation
from libs.interchange.bundles.solve import bundle_of, save_bundle
from libs.interchange.region.read import load_region
from libs.interchange.region.write import image_of, save_region
from libs.ras.phases.report import PhaseReport
from services.cli.main import main
from services.cli.solve import _bound_in_words, _phase_in_words
from services.cli.started import count_from, elapsed_s, process_began
from tests.builders.random_region import random_region
from tests.builders.region import region_image


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


def test_further_kinds_of_loss_are_reported(run, tmp_path):
    domains = {"network_block": {f"server-{k:02d}": f"b{k % 3}" for k in range(12)}}
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_loss_of=("network_block",))
    huge = ReservationSpec(capacity_rru=50, rru={"hw-a": 1.0})
    image = region_image(msbs=3, reservations={"web": spec, "huge": huge}, domains=domains)
    save_region(image, tmp_path / "region")
    done = run(tmp_path / "region", "--out", tmp_path / "a.parquet", "--report", tmp_path / "r.json")
    assert done.exit_code == 0
    msb, block = json.loads((tmp_path / "r.json").read_text())["losses"]
    assert (msb["kind"], msb["reservations"], list(msb["short_rru"])) == ("MSB", 2, ["huge"])
    assert (block["kind"], block["reservations"], block["short_rru"]) == ("network_block", 1, {})
    assert block["buffer_rru"] == 2
    assert "loss of any one network_block: survived by 1 of 1 reservation, which holds 2.00 RRU for it" in done.stdout
    held = pq.read_table(tmp_path / "a.parquet").to_pydict()
    mine = [domains["network_block"][s] for s, r in zip(held["server"], held["reservation"], strict=True) if r == "web"]
    assert all(sum(block != lost for block in mine) >= 4 for lost in ("b0", "b1", "b2"))


def test_the_loss_of_a_kind_that_nobody_survives_is_not_told(run, tmp_path):
    spec = ReservationSpec(
        capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("network_block",)
    )
    domains = {"network_block": {f"server-{k:02d}": f"b{k % 3}" for k in range(12)}}
    save_region(region_image(msbs=3, reservations={"web": spec}, domains=domains), tmp_path / "region")
    done = run(tmp_path / "region", "--out", tmp_path / "a.parquet")
    assert "loss of any one network_block: survived by 1 of 1 reservation" in done.stdout
    assert "loss of any one MSB" not in done.stdout


def test_types_that_limits_on_power_count_as_0_w_are_told(run, tmp_path):
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        reservations={"web": spec}, power_limits=[PowerLimit(kind="MSB", domain="msb-00", limit_w=500.0)]
    )
    save_region(image, tmp_path / "region")
    told = run(tmp_path / "region", "--out", tmp_path / "a.parquet").stdout
    assert "1 hardware type without watts: hw-a. Limits on power count 0 W for such servers" in told


def test_a_phase_that_changes_nothing_has_no_negative_zero():
    phase = PhaseReport(
        phase="racks",
        reservations=("web",),
        waiting=0,
        counts=1,
        before=1.0,
        after=1.0,
        others=0.0,
        moves=-0.01,
        moved_in_use=0,
        moved_idle=0,
        bound_gap=None,
        stopped_by="finished",
    )
    assert "other terms +0.0, moves +0.0 (+0 in use)" in _phase_in_words(phase)


@pytest.mark.parametrize(("gap", "above"), [(0.018, "1.80%"), (134.2, "1,234 of cost")])
def test_a_gap_beside_penalties_that_no_plan_avoids_is_told_as_a_cost(gap, above):
    report = SimpleNamespace(proven=False, gap=gap, above_bound=1234.4, chosen_domains=False)
    assert _bound_in_words(report) == f"at most {above} above the best possible (racks not counted)"


def test_the_region_of_the_page_is_solved(run, tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "interchange.md"
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(code, {})
    done = run("mine")
    assert "reservations short     0         2" in done.stdout
    assert "no better answer exists" in done.stdout
    [moved] = re.findall(r"^ *(moved .*;) [\d.]+ s$", page.read_text(), re.MULTILINE)
    assert moved in done.stdout
    (tmp_path / "mine" / "affinity.parquet").unlink()
    assert "affinity.parquet: is missing; all of servers.parquet, " in run("mine").stderr


def test_a_free_server_leaves_no_reservation_in_the_waves(run, tmp_path):
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False)
    bound = {f"server-{k:02d}": "first" for k in range(5)}  # one too many
    image = region_image(
        msbs=3, reservations={"first": spec, "second": spec}, current=bound, policy=RegionPolicy(surplus_cost=12.0)
    )
    save_region(image, tmp_path / "region")
    done = run(tmp_path / "region", "--out", tmp_path / "a.parquet", "--report", tmp_path / "r.json")
    assert done.exit_code == 0
    waves = json.loads((tmp_path / "r.json").read_text())["waves"]
    found = {row["reservation"]: (row["loses"], row["gains"]) for row in waves["reservations"]}
    assert found == {"first": (1, 0), "second": (0, 4)}


@pytest.mark.parametrize("seed", ["-1", str(2**31)])
def test_a_seed_that_no_solver_takes_is_refused_by_its_option(run, folder, tmp_path, seed):
    done = run(folder, "--seed", seed, "--out", tmp_path / "a.parquet")
    assert done.exit_code == 1
    assert "--seed" in done.stderr
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("place", ["folder", "file/below.parquet"])
def test_a_file_that_cannot_be_written_is_told_before_the_solve(run, folder, tmp_path, monkeypatch, option, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("services.cli.solve.load_bundle", pytest.fail)
    done = run(folder, option, place)
    assert done.exit_code == 1
    assert f"{option} {place}: cannot be written: " in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "folder", "region"]


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


@pytest.fixture
def counting():
    """Calls a function after `count_from`, and lets later tests count from nothing."""

    def counting(began, function):
        def counted():
            count_from(began)
            return function()

        return copy_context().run(counted)

    return counting


def test_time_before_the_solve_counts_in_the_limit(run, folder, tmp_path, counting):
    def stopped_by():
        given = ("--out", tmp_path / "a.parquet", "--output", "json", "--time-limit", 1000)
        return json.loads(run(folder, *given).stdout)["stopped_by"]

    assert counting(time.perf_counter(), stopped_by) == "finished"
    assert counting(time.perf_counter() - 1000, stopped_by) == "time"


def test_the_process_began_before_its_commands(counting):
    began = process_began()
    assert began < time.perf_counter()
    assert counting(began, elapsed_s) > 0
    assert elapsed_s() == 0
