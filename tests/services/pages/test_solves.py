"""The pages of solves say what a run did, and compare two of them."""

import csv
import io
import json
import re

import pytest
import sqlalchemy as sa

from libs.jobs.curve import POINTS_MAX
from services.pages.parts.curves import Course, curve_svg, is_logarithmic
from services.pages.parts.words import number, sentence
from services.pages.views.solve import signed


@pytest.fixture
def runs(world) -> list[dict]:
    """The runs of west, the first one first."""
    with world.client(world.admin) as client:
        return client.get("/v1/solve-runs", params={"region": "west"}).json()["items"][::-1]


def address(run: dict, suffix: str = "") -> str:
    return f"/regions/west/solves/{run['solve_run_id']}{suffix}"


def test_the_list_has_every_run_and_filters_by_status(log_in, world, runs) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/solves")
    for run in runs:
        assert f'href="{address(run)}"' in page.text
    assert "plimsoll get solve-runs --where region=west" in page.text
    failed = browser.get("/regions/west/solves?status=failed")
    assert "No row passes these filters." in failed.text
    assert browser.get("/regions/none/solves").status_code == 404


def test_a_run_shows_its_cost_by_term_before_and_after(log_in, world, runs) -> None:
    run = runs[0]
    browser = log_in(world.viewer)
    rows = list(csv.DictReader(io.StringIO(browser.get(address(run, "?format=csv&table=terms")).text)))
    by_term = {row["Term"]: row for row in rows}
    report = run["report"]
    assert float(by_term["All terms"]["Before"]) == report["stay"]["total"]
    assert float(by_term["All terms"]["After"]) == report["total"]
    assert sum(float(row["Before"]) for row in rows[:-1]) == pytest.approx(report["stay"]["total"])
    assert sum(float(row["After"]) for row in rows[:-1]) == pytest.approx(report["total"])
    assert float(by_term["Surplus"]["Before"]) == report["stay"]["terms"]["surplus"]


def test_a_run_shows_its_curve_and_its_changes(log_in, world, runs) -> None:
    run = runs[0]
    curve = run["progress"]["curve"]
    assert curve[0]["phase"] == "build"
    assert curve[-1] == {
        "at_s": curve[-1]["at_s"],
        "phase": "evaluation",
        "incumbent": pytest.approx(run["report"]["total_without_rack"]),
        "bound": pytest.approx(run["report"]["lower_bound"]),
    }
    page = log_in(world.viewer).get(address(run)).text
    assert "<title>incumbent of " in page
    assert re.search(rf"at the end: {re.escape(number(run['report']['total_without_rack']))}</title></circle>", page)
    assert f"{sentence(run['report']['waves']['message'])}." in page
    changes = log_in(world.viewer).get(address(run, "?format=csv")).text
    assert len(changes.splitlines()) == run["report"]["changes"] + 1


def test_a_run_says_whose_servers_its_gap_counts(log_in, world, runs) -> None:
    browser, run = log_in(world.viewer), runs[0]
    said = "The gap and the costs before count 16 servers of a lost domain as present; the costs after do not."
    assert "of a lost MSB" not in browser.get(address(run)).text
    change = sa.text("UPDATE solve_runs SET report = CAST(:report AS jsonb) WHERE solve_run_id = :id")
    with world.platform.database.write() as tx:
        report = run["report"] | {"as_solved": {"message": said}}
        tx.execute(change, {"report": json.dumps(report), "id": run["solve_run_id"]})
    try:
        assert said in browser.get(address(run)).text
    finally:
        with world.platform.database.write() as tx:
            tx.execute(change, {"report": json.dumps(run["report"]), "id": run["solve_run_id"]})


def test_two_runs_stand_side_by_side(log_in, world, runs) -> None:
    second, first = runs[-1], runs[0]
    browser = log_in(world.viewer)
    path = address(second, f"?with={first['solve_run_id']}")
    page = browser.get(path)
    assert page.status_code == 200
    assert page.text.count("<title>incumbent of ") == 4, "a line and the dot at its end for each"
    rows = list(csv.reader(io.StringIO(browser.get(f"{path}&format=csv").text)))
    cost = next(row for row in rows if row[0] == "Cost")
    assert [float(value) for value in cost[1:3]] == [second["report"]["total"], first["report"]["total"]]
    assert float(cost[3]) == pytest.approx(first["report"]["total"] - second["report"]["total"])


def test_a_run_of_another_region_or_of_none_is_missing(log_in, world, runs) -> None:
    browser = log_in(world.viewer)
    east = browser.get(f"/regions/east/solves/{runs[0]['solve_run_id']}")
    assert (east.status_code, "east has no solve of this address." in east.text) == (404, True)
    for path in ("/regions/west/solves/99999", "/regions/west/solves/x", "/regions/west/solves/99999999999999999999"):
        assert browser.get(path).status_code == 404, path
    assert browser.get(address(runs[0], "?with=99999")).status_code == 404


def test_only_operators_start_solves(log_in, world) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/regions/east/solves").text
    assert "Operators start solves." in page
    refused = browser.post("/regions/east/solves", data={"action": "solve"})
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)
    asked = log_in(world.operator).post("/regions/east/solves", data={"action": "solve"})
    assert (asked.status_code, asked.headers["location"]) == (303, "/regions/east/solves?asked=1")
    assert "A solve was asked for." in browser.get(asked.headers["location"]).text
    world.live(1)
    assert "A solve was asked for." not in browser.get("/regions/east/solves").text


def test_a_run_that_is_over_cannot_be_stopped(log_in, world, runs) -> None:
    browser = log_in(world.operator)
    assert "Stop it" not in browser.get(address(runs[0])).text
    stopped = browser.post(address(runs[0]), data={"action": "stop"})
    assert (stopped.status_code, 'role="alert"' in stopped.text) == (409, True)


def points(*values: float) -> list[dict]:
    return [{"at_s": float(at), "phase": "search", "incumbent": value, "bound": 5.0} for at, value in enumerate(values)]


def test_a_curve_without_an_incumbent_is_no_picture() -> None:
    assert curve_svg("t", [Course("a", "l1", [])]) is None
    assert curve_svg("t", [Course("a", "l1", [{"at_s": 0.0, "phase": "build"}])]) is None


def test_a_curve_over_a_wide_range_is_logarithmic() -> None:
    assert not is_logarithmic([Course("a", "l1", points(12, 11, 10))])
    assert is_logarithmic([Course("a", "l1", points(9000, 300, 10))])
    assert is_logarithmic(
        [Course("a", "l1", [*points(9000, 300), {"at_s": 3, "phase": "p", "incumbent": 9, "bound": 0}])]
    )


def test_a_curve_of_any_length_is_a_small_picture() -> None:
    long = points(*(1e6 / (at + 1) for at in range(POINTS_MAX)))
    picture = curve_svg("<t>", [Course("a & b", "l1", long), Course("c", "l2", long)])
    assert picture is not None
    assert len(picture) < 20_000
    assert "<t>" not in picture
    assert "a &amp; b" in picture


def test_a_single_point_and_equal_values_draw() -> None:
    for some in (points(5.0), points(0.0, 0.0), [{"at_s": 0.0, "phase": "p", "incumbent": 0.0, "bound": 0.0}]):
        assert curve_svg("t", [Course("a", "l1", some)]) is not None


def test_a_change_that_is_shown_as_zero_has_no_sign() -> None:
    assert [signed(change) for change in (None, 1e-9, -1e-9, 0.0, 0.25)] == [None, "0", "0", "0", "+0.25"]
