import json
from xml.etree import ElementTree

import pytest

from services.cli.main import main
from tests.builders.world import write_table, write_world


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["plimsoll", "flux", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("flux") / "world")


def test_a_world_is_modelled_and_planned(run, world, tmp_path):
    model, plan = tmp_path / "model.json", tmp_path / "plan.json"
    code, out, _ = run("model", world, "--out", model, "--output", "json")
    assert code == 0
    report = json.loads(out)
    assert (report["spans"], report["malformed"], report["orphaned"]) == (480, 0, 0)
    assert report["low_confidence"] == {}
    found = json.loads(model.read_text())["services"]["store"]
    assert found["attribution"]["shop"] == pytest.approx(1 / 3, abs=0.02)
    assert found["capacity"] == pytest.approx(3.0, rel=0.02)
    assert found["baseline"]["north"] == pytest.approx(0.2 + 1.0, rel=0.02)
    code, out, _ = run("plan", world, "--model", model, "--out", plan, "--output", "json")
    assert code == 0
    assert json.loads(out)["deficit"] == pytest.approx(0.0, abs=1e-6)
    steps = json.loads(plan.read_text())["steps"]
    assert sum(steps[1]["traffic"]["feed"].values()) == pytest.approx(1.02)
    assert sum(steps[0]["growth"]["store"].values()) == pytest.approx(0.1)


def test_people_get_tables(run, world, tmp_path):
    code, out, _ = run("model", world, "--out", tmp_path / "m.json")
    assert code == 0
    assert "store" in out
    code, out, _ = run("plan", world, "--out", tmp_path / "p.json")
    assert code == 0


def test_a_person_can_review_it(run, world, tmp_path):
    report, dag = tmp_path / "report", tmp_path / "dag.json"
    code, _, _ = run("plan", world, "--out", tmp_path / "p.json", "--dag", dag, "--report", report)
    assert code == 0
    changes = json.loads((report / "changes.json").read_text())
    assert changes["changes"]
    for change in changes["changes"]:
        parts = sum(part["capacity"] for part in change["because"]) + change["residual"]
        assert parts == pytest.approx(change["after"] - change["before"], abs=1e-2)
    for name in ("presence.svg", "pools.svg", "residuals.svg", "models.svg"):
        page = ElementTree.fromstring((report / name).read_text())
        assert page.tag.endswith("svg")
        assert len(list(page)) > 5
    store = [node for node in json.loads(dag.read_text())["nodes"] if node.get("service") == "store"]
    assert all(node["approval"] == ["OwnerApproves"] for node in store)
    assert store


def test_growth_of_traffic_says_when_its_capacity_is_there(run, tmp_path):
    world = write_world(tmp_path / "world")
    write_table(world, "traffic_growth", ["step", "product", "growth"], [[1, "shop", -0.5], [1, "feed", 0.2]])
    code, out, _ = run("plan", world, "--out", tmp_path / "p.json")
    said = " ".join(out.split())
    assert code == 0
    assert "feed grows by 20 %: the capacity for it is there" in said
    assert "shop falls by 50 %: its capacity stays" in said
    code, out, _ = run("plan", world, "--out", tmp_path / "p.json", "--output", "json")
    assert [one["product"] for one in json.loads(out)["traffic_growth"]] == ["shop", "feed"]
    code, out, _ = run("what-if", "--world", world, "--growth", "shop=-0.2")
    assert code == 0
    assert "not possible: shop does not fall by 60 % in step 1" in " ".join(out.split())


@pytest.mark.parametrize(
    ("growth", "told"),
    [
        ("shop=nan", "--growth shop=nan is not NAME=NUMBER"),
        ("shop=inf", "--growth shop=inf is not NAME=NUMBER"),
        ("shop=-2", "growth of shop is -2: no traffic at all is -1"),
        ("shop=1e300", "Some amounts of the inputs are too far apart"),
    ],
)
def test_growth_that_no_plan_can_have_is_refused_in_words(run, world, growth, told):
    code, _, err = run("what-if", "--world", world, "--growth", growth)
    assert (code, told in " ".join(err.split())) == (1, True), err


def test_amounts_that_no_solver_takes_are_an_error_in_words(run, tmp_path):
    world = write_world(tmp_path / "world")
    write_table(world, "traffic_growth", ["step", "product", "growth"], [[1, "shop", "1e300"]])
    code, _, err = run("plan", world, "--out", tmp_path / "p.json")
    assert (code, "in supply, growth, traffic_growth" in " ".join(err.split())) == (1, True), err


def test_what_cannot_be_is_not_possible(run, tmp_path):
    world = write_world(tmp_path / "world")
    limits = [["shop", region, 0.2] for region in ("east", "west", "north")]
    write_table(world, "presence_limits", ["product", "region", "share_max"], limits)
    code, _, err = run("plan", world, "--out", tmp_path / "p.json")
    assert code == 2
    assert not (tmp_path / "p.json").exists()
    assert "shop would need" in err
    assert "of today's traffic more than its share_max in" in err
    write_table(world, "presence_limits", ["product", "region", "share_max"], [])
    header = ["service", "region", "hardware_type", "capacity_max", "reason"]
    full = [["store", region, "compute", 0.5, "the building is full"] for region in ("east", "west", "north")]
    write_table(world, "controls", header, full)
    code, _, err = run("plan", world, "--out", tmp_path / "p.json")
    assert code == 2
    assert "capacity_max" in err
    assert "the building is full" in err


def test_errors_name_file_and_field(run, tmp_path):
    world = write_world(tmp_path / "world")
    write_table(world, "services", ["service", "hardware_type"], [["store", "quantum"]])
    code, _, err = run("model", world, "--out", tmp_path / "m.json")
    assert code == 1
    assert "services.csv, hardware_type" in err
    assert "'quantum'" in err
    (world / "services.csv").unlink()
    assert "services.csv: is missing" in run("model", world)[2]
