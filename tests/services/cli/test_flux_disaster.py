import json

import pytest

from services.cli.main import main
from tests.builders.world import write_table, write_world

HEADER = ["service", "region", "hardware_type", "capacity", "throughput", "utilisation", "utilisation_max"]


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["plimsoll", "flux", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        return capsys.readouterr().out

    return run


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path / "world")


def test_the_plan_says_which_loss_decides_and_provides_for_it(run, world, tmp_path):
    run("model", world, "--out", tmp_path / "m.json")
    store = json.loads((tmp_path / "m.json").read_text())["services"]["store"]
    assert store["throughput"] == pytest.approx(1500, rel=0.05)  # a call for each request of either product
    # per unit of capacity today; tests show that it could be that busy
    served = store["throughput"] / store["capacity"]
    points = [["store", "north", "compute", 2.0, 2.0 * served * q, 0.8 * q, 0.8] for q in (0.3, 0.5, 0.7, 0.9, 1.0)]
    write_table(world, "load_tests", HEADER, points)
    arguments = "plan", world, "--model", tmp_path / "m.json", "--out", tmp_path / "p.json"
    out = run(*arguments, "--disaster", tmp_path / "d.json")
    found = json.loads((tmp_path / "d.json").read_text())
    assert found["services"]["store"]["confidence"] == "high"
    assert found["services"]["store"]["throughput"] == pytest.approx(served, rel=1e-6)
    places = [place for place in found["places"] if place["step"] == 1]
    regions = json.loads((tmp_path / "p.json").read_text())["steps"][0]["capacity"]["store"]
    assert {place["region"] for place in places} == set(regions)
    for place in places:
        assert place["lost"] != place["region"]
        assert place["planned"] == pytest.approx(regions[place["region"]])
        assert place["planned"] >= place["needed"] * 0.999
        assert place["needed"] > 0
    assert sum(regions.values()) > store["capacity"] * 1.05  # today it could lose no region
    assert "LOSS THAT DECIDES" in out
    assert any(place["region"] in line and place["lost"] in line for line in out.splitlines() for place in places)


def test_load_tests_of_no_use_are_named(run, world, tmp_path):
    write_table(world, "load_tests", HEADER, [["store", "north", "compute", 1, 10, 0.5, ""]])
    out = run("plan", world, "--out", tmp_path / "p.json", "--disaster", tmp_path / "d.json")
    assert "store: its load tests are not used: TooFewPoints" in out
    assert json.loads((tmp_path / "d.json").read_text())["places"] == []


def test_without_load_tests_nothing_is_said(run, world, tmp_path):
    assert "load" not in run("plan", world, "--out", tmp_path / "p.json").split("written")[0]
