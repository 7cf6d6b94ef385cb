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


def test_without_load_tests_only_estimates_are_said(run, world, tmp_path):
    out = run("plan", world, "--out", tmp_path / "p.json").split("written")[0]
    assert "3 of 3 services without load tests lack capacity for the worst loss" in out
    assert "load-tested" not in out


def test_services_without_load_tests_are_estimated_and_the_rest_is_named(run, world, tmp_path):
    """The estimate is checked straight from its definition, on the files of model and plan."""
    with (world / "services.csv").open("a") as stream:
        stream.write("silent,compute,1,1,0\n")
    run("model", world, "--out", tmp_path / "m.json")
    arguments = "plan", world, "--model", tmp_path / "m.json", "--out", tmp_path / "p.json"
    out = run(*arguments, "--disaster", tmp_path / "d.json")
    found, model = json.loads((tmp_path / "d.json").read_text()), json.loads((tmp_path / "m.json").read_text())
    step = json.loads((tmp_path / "p.json").read_text())["steps"][0]
    assert found["places"] == []
    assert {*found["estimated"], *(one["service"] for one in found["unsized"])} >= model["services"].keys()
    store = model["services"]["store"]
    regions = list(step["capacity"]["store"])
    needed = {}
    for region in regions:
        loads = []
        for lost in regions:
            if lost == region:
                continue
            load = store["residual"][region]
            for product, share in store["attribution"].items():
                traffic = step["traffic"][product]
                whole, left = sum(traffic.values()), sum(traffic.values()) - traffic[lost]
                load += store["capacity"] * share * traffic[region] * whole / left
            loads.append(load)
        needed[region] = max(loads)
    assert found["estimated"]["store"]["needed"] == pytest.approx(sum(needed.values()), rel=1e-6)
    planned = step["capacity"]["store"]
    lacking = {region: needed[region] - planned[region] for region in regions if needed[region] > planned[region]}
    assert found["estimated"]["store"]["lacking"] == pytest.approx(sum(lacking.values()), rel=1e-2)
    places = {one["region"]: one for one in found["estimated_places"] if one["service"] == "store"}
    assert places.keys() == lacking.keys()
    assert found["unsized"] == [{"service": "silent", "reason": "NotModelled", "now": 0.0}]
    assert "services cannot be sized: silent" in out
