"""The pages of Flux: sums of what the API says, pictures of it, and words for what is not there."""

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.testclient import TestClient

from libs.store.planner.placement_plans import commit_placement_plan, load_target_plan_id
from services.pages.app import create_pages
from services.pages.parts.event_line import LANES_MAX, MARKS_MAX, Event, event_line
from services.pages.parts.pictures import Series
from services.pages.parts.scatter import cycles_svg, fit_svg
from services.pages.views.flux_cycles import total
from services.pages.views.flux_plan import SERVICES_MAX, capacity_map, shift_map, traffic_map
from tests.builders.flux_world import REGIONS
from tests.services.pages.test_pages import text_of


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


@pytest.fixture
def places(api) -> dict:
    plans = api.get("/v1/placement-plans").json()["items"]
    target = next(one for one in plans if one["target"])
    return api.get(f"/v1/placement-plans/{target['placement_plan_id']}/places").json()


def rows_of(page) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(page.text)))


def test_the_target_plan_is_shown_by_service_and_region(log_in, world, places) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/flux")
    assert page.status_code == 200
    said = text_of(page.text)
    assert f"The {SERVICES_MAX} largest of 48 services" in said
    for one in places["services"]:
        assert one["service"] in said
    assert "search grows by 1 %: " in said
    rows = rows_of(browser.get("/flux?format=csv"))
    assert len(rows) == SERVICES_MAX * len(REGIONS)
    assert sum(float(row["Planned"]) for row in rows) == pytest.approx(
        sum(sum(one["planned"]) for one in places["services"])
    )
    assert len(rows_of(browser.get("/flux?format=csv&name_contains=service-07"))) == len(REGIONS)
    assert "No service has this name." in text_of(browser.get("/flux?name_contains=nothing").text)


def test_the_matrix_adds_up_the_shifts_between_two_regions(places) -> None:
    whole = shift_map(places, "")
    assert whole is not None
    assert [row.name for row in whole.rows] == [*whole.columns] == [*REGIONS]
    product = places["shifts"][0]["product"]
    one = shift_map(places, product)
    assert one is not None
    total_of = {row.name: row.ends[0].text for row in one.rows}
    for region in REGIONS:
        leaves = sum(
            shift["share"]
            for shift in places["shifts"]
            if (shift["product"], shift["from_region"]) == (product, region)
        )
        assert total_of[region] in (f"{100 * leaves:.1f}".rstrip("0").rstrip(".") + " %", "under 0.1 %")
    assert shift_map(places, "no such product") is None
    assert shift_map({**places, "shifts": []}, "") is None


def test_maps_say_what_changes_and_in_which_direction(places) -> None:
    change, now = capacity_map(places, "change"), capacity_map(places, "now")
    assert len(change.rows) == SERVICES_MAX + len(places["others"])
    first = places["services"][0]
    for r, cell in enumerate(change.rows[0].cells):
        value = first["planned"][r] - first["now"][r]
        assert cell.falls == (value < 0)
        assert (cell.text == "") == (abs(value) < 0.005)
        assert now.rows[0].cells[r].text.replace(",", "") == f"{first['now'][r]:.2f}".rstrip("0").rstrip(".")
    traffic = traffic_map(places, "planned")
    assert [row.ends[0].text for row in traffic.rows] == ["100 %"] * len(places["products"])


def test_a_plan_without_figures_by_place_says_so(log_in, world, api) -> None:
    plans = api.get("/v1/placement-plans").json()["items"]
    first = min(one["placement_plan_id"] for one in plans)
    said = text_of(log_in(world.viewer).get(f"/flux?plan={first}").text)
    assert "This plan has no figures by place" in said


def test_a_plan_of_a_thousand_services_in_twenty_regions_is_a_small_page(log_in, world, api) -> None:
    regions = [f"region-{k:02d}" for k in range(20)]
    row = [12.345 + k for k in range(20)]
    document = {
        "step": 1,
        "regions": regions,
        "services": [
            {"service": f"team-{k % 30}/service-{k:04d}", "hardware_type": f"type-{k % 4}"}
            | {"now": [value + k for value in row], "planned": [value * 1.1 + k for value in row], "growth": row}
            for k in range(1000)
        ],
        "products": [{"product": f"product-{k}", "now": [0.05] * 20, "planned": [0.05] * 20} for k in range(60)],
        "shifts": [
            {
                "product": f"product-{k % 60}",
                "from_region": regions[k % 20],
                "to_region": regions[k % 19],
                "share": 0.01,
            }
            for k in range(1200)
        ],
    }
    with world.platform.database.write() as tx:
        run = api.get("/v1/plan-runs").json()["items"][0]["plan_run_id"]
        plan_id = commit_placement_plan(
            tx,
            plan_run_id=run,
            parent=load_target_plan_id(tx),
            committed=False,
            input_versions={},
            overrides=(),
            summary={"growth_withheld": 0.0, "steps": [{}]},
            files={"places.json": json.dumps(document).encode()},
            now=world.platform.clock.now(),
        )
    page = log_in(world.viewer).get(f"/flux?plan={plan_id}")
    said = text_of(page.text)
    assert f"The {SERVICES_MAX} largest of 1,000 services have a row of their own." in said
    assert "960 others" in said
    assert "40 more have smaller ones" in said
    assert len(page.content) < 300_000


def test_models_list_their_confidence_and_error(log_in, world, api) -> None:
    models = api.get("/v1/service-models", params={"limit": 100}).json()["items"]
    browser = log_in(world.viewer)
    rows = rows_of(browser.get("/flux/models?format=csv"))
    assert {row["Service"]: float(row["Error"]) for row in rows} == {
        one["service"]: one["document"]["error"] for one in models
    }
    low = rows_of(browser.get("/flux/models?confidence=low&format=csv"))
    assert {row["Service"] for row in low} == {one["service"] for one in models if one["confidence"] == "low"}
    assert low, "the made-up world has some"
    assert "model error" in text_of(browser.get("/flux/models?confidence=low").text)


def test_a_model_shows_points_fit_and_residuals(log_in, world, api) -> None:
    [model] = api.get("/v1/service-models", params={"service": "service-05"}).json()["items"]
    browser = log_in(world.viewer)
    rows = rows_of(browser.get("/flux/models/service-05?format=csv"))
    document = model["document"]
    assert {row["Region"]: float(row["Residual"]) for row in rows} == pytest.approx(document["residual"])
    assert {row["Region"]: float(row["Measured"]) for row in rows} == pytest.approx(document["baseline"])
    page = browser.get("/flux/models/service-05").text
    assert page.count("<circle") >= len(REGIONS) + 2 * 3, "a point for each region, and two for each of three runs"
    assert browser.get("/flux/models/none").status_code == 404


def test_the_ledger_shows_what_is_due_in_its_time_range(log_in, world, api) -> None:
    browser, now = log_in(world.viewer), world.platform.clock.now()
    events = api.get("/v1/capacity-events", params={"limit": 1000}).json()["items"]
    for days in (7, 30):
        near = [e for e in events if abs(datetime.fromisoformat(e["starts_at"]) - now) < timedelta(days=days, hours=-1)]
        rows = rows_of(browser.get(f"/flux/ledger?days={days}&format=csv"))
        assert len(rows) == len(near)
    page = browser.get("/flux/ledger").text
    said = text_of(page)
    assert "service-01 +30 compute in ash" in said
    assert "5 % of shop: ash to bay" in said
    assert page.count("<rect") >= len(rows)
    failed = rows_of(browser.get("/flux/ledger?status=failed&format=csv"))
    assert [row["Change"] for row in failed] == ["service-03 +18 compute in cove"]
    assert "No row passes these filters." in text_of(browser.get("/flux/ledger?writer=flux&region=ash").text)
    assert browser.get("/flux/ledger?days=banana").status_code == 200
    assert browser.get("/flux/ledger?status=banana").status_code == 422


def test_cycles_add_up_the_sizing_errors_of_services(log_in, world, api) -> None:
    found = api.get("/v1/execution-figures", params={"services_max": 100}).json()
    above = [total(found["services"], k, "above") for k in range(len(found["executions"]))]
    assert None not in above, "each execution resizes services"
    browser = log_in(world.viewer)
    rows = rows_of(browser.get("/flux/cycles?format=csv&table=services"))
    assert sum(float(row["Above"]) for row in rows) == sum(value or 0 for value in above)
    assert len(rows_of(browser.get("/flux/cycles?format=csv"))) == len(found["executions"])
    service = found["services"][0]["service"]
    rows = rows_of(browser.get(f"/flux/cycles?format=csv&table=services&service={service}"))
    assert {row["Service"] for row in rows} == {service}
    assert "No plan resized a service of this name." in text_of(browser.get("/flux/cycles?service=none").text)


def test_without_any_plan_each_page_says_what_to_do() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        who = {"name": "vic", "role": "viewer", "owners": []}
        empty = {"items": [], "next_cursor": None, "executions": [], "services": [], "runs": []}
        return httpx.Response(200, json=who if request.url.path == "/v1/whoami" else empty)

    class Noon:
        def now(self) -> datetime:
            return datetime(2026, 11, 20, 12, tzinfo=UTC)

        def sleep(self, duration_s: float) -> None:
            raise AssertionError

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://api") as http:
        app = create_pages(http, Noon())
        with TestClient(app, base_url="https://pages.example", cookies={"__Host-plimsoll": "plims_x"}) as browser:
            for path, words in (
                ("/flux", "plimsoll flux run makes the first one"),
                ("/flux/models", "plimsoll flux run asks for one"),
                ("/flux/ledger", "plimsoll ledger propose"),
                ("/flux/cycles", "plimsoll execution create"),
            ):
                page = browser.get(path)
                assert page.status_code == 200, path
                assert words in text_of(page.text), path


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def events(number: int, lanes: int = 3) -> list[Event]:
    return [
        Event(
            f"lane-{k % lanes:02d}", NOON + timedelta(hours=k % 90 - 12), NOON + timedelta(hours=k % 90), "f1", f"<{k}>"
        )
        for k in range(number)
    ]


def test_a_time_line_of_many_events_counts_them() -> None:
    start, end = NOON - timedelta(days=7), NOON + timedelta(days=7)
    assert event_line("t", [], start=start, end=end, now=NOON) is None
    few = event_line("t", events(20), start=start, end=end, now=NOON)
    assert few is not None
    assert (few.count("<rect"), "&lt;3&gt;" in few, "<title>now</title>" in few) == (20, True, True)
    many = event_line("t", events(MARKS_MAX + 700, lanes=60), start=start, end=end, now=end + timedelta(days=1))
    assert many is not None
    assert len(many) < 150_000
    assert many.count('text-anchor="end"') == LANES_MAX
    assert "<title>now</title>" not in many
    counted = event_line("t", events(MARKS_MAX + 700), start=start, end=end, now=NOON)
    assert counted is not None
    assert sum(int(n) for n in re.findall(r"lane-\d\d: (\d+) event", counted)) == MARKS_MAX + 700


def test_pictures_of_points_and_cycles_stand_any_figures() -> None:
    assert fit_svg("t", []).count("<circle") == 0
    assert fit_svg("t", [("a", 0.0, 0.0)]).count("<circle") == 1
    assert "&lt;b&gt;" in fit_svg("t", [("<b>", 1e9, 0.5)])
    assert cycles_svg("t", ["a"], [Series("x", "l1", [None])]) == ""
    gap = cycles_svg("t", ["a", "b", "c"], [Series("x", "l1", [1.0, None, 0.0])])
    assert (gap.count("<circle"), "L" in gap) == (2, False)
