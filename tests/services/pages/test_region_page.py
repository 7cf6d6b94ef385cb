"""The page of a region."""

import csv
import io
import re

import pytest

from services.pages.parts.words import number
from tests.services.pages.test_pages import text_of


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def test_the_region_names_what_is_amiss_with_its_page(log_in, world, api) -> None:
    world.ask_below_promise()
    page = log_in(world.viewer).get("/regions/west").text
    summary = api.get("/v1/regions/west/summary").json()
    assert summary["degraded"] >= 1
    assert 'href="/regions/west/reservations/batch"' in page
    assert re.search(r"changes wait for a decision: [^.]*\bcrawl\b", page), "beside the moves below a promise"
    assert "moves below a promise" in page
    asked = number(summary["readiness"]["capacity_rru"])
    assert f"{asked} RRU asked for granted or not" in text_of(page)
    assert "reservations hold what they ask for" in text_of(page)
    assert "promised" not in text_of(page).partition("Map")[0], "batch is in these figures, and waits"
    regions = text_of(log_in(world.viewer).get("/regions").text)
    assert "RRU asked for" in regions
    assert summary["capacity_rru"] > summary["readiness"]["capacity_rru"], "nobody asks for the shared buffers"
    held = number(summary["readiness"]["held_rru"])
    assert f" {summary['reservations']} {asked} {held} " in regions, "of the same reservations as what is held"
    assert "plimsoll status west" in page
    assert 'href="/json/v1/regions/west/summary?places=true"' in page


def test_a_map_counts_every_server_once(log_in, world, api) -> None:
    items = api.get("/v1/regions/west/server-counts").json()["items"]
    assert sum(one["servers"] for one in items) == 240
    servers = api.get("/v1/servers", params={"region": "west", "limit": 1000}).json()["items"]
    assert sum(one["bound"] for one in items) == sum(s["target_reservation"] is not None for s in servers)
    assert sum(one["down"] for one in items) == sum(s["unavailability"] == "unplanned" for s in servers) == 2
    assert sum(one["in_use"] for one in items) == 2
    web = api.get("/v1/regions/west/server-counts", params={"reservation": "web"}).json()["items"]
    reservation = api.get("/v1/reservations", params={"region": "west", "name": "web"}).json()["items"][0]
    assert sum(one["held_rru"] for one in web) == pytest.approx(reservation["status"]["held_rru"])
    assert sum(one["target_rru"] for one in web) == pytest.approx(reservation["status"]["target_rru"])
    assert api.get("/v1/regions/west/server-counts", params={"reservation": "none"}).status_code == 404


def test_the_past_of_a_region_is_fetched_and_comes_as_csv(log_in, world, api) -> None:
    browser = log_in(world.viewer)
    first = browser.get("/regions/west?days=7").text
    assert 'hx-get="/regions/west?days=7&amp;past=1"' in first
    assert "Moves and preemptions a day</h3>" not in first
    part = browser.get("/regions/west?days=7&past=1", headers={"HX-Request": "true"}).text
    assert "Moves and preemptions a day</h3>" in part
    assert "<h1" not in part, "only the past"
    said = " ".join(re.sub(r"<[^>]+>", " ", part).split())
    assert "asked for granted of it held of it" in said, "batch waits"
    assert "Asked for and held" in said
    assert "A request counts whole, granted or not." in said
    days = api.get("/v1/regions/west/history", params={"days": 7}).json()["days"]
    found = browser.get("/regions/west?days=7&past=1&format=csv&table=days").text
    rows = list(csv.DictReader(io.StringIO(found)))
    assert {row["Day (UTC)"]: int(row["Moves"]) for row in rows} == {one["day"]: one["moves"] for one in days}
    assert sum(one["moves"] for one in days) > 100
    assert "plimsoll history --region west --days 7" in part


def test_the_region_shows_the_racks_that_send_most_against_their_limits(log_in, world, api) -> None:
    browser, found = log_in(world.viewer), api.get("/v1/regions/west/uplinks").json()
    assert found["racks_above"] > 0, "the world has a rack above its limit"
    page = browser.get("/regions/west")
    said = text_of(page.text)
    limited = len(found["limits"])
    assert f"{found['racks_above']} racks of {limited} with a limit would send more than it by targets" in said
    rows = list(csv.DictReader(io.StringIO(browser.get("/regions/west?format=csv&table=uplinks").text)))
    assert [(row["Rack"], float(row["Limit"])) for row in rows] == [(one["rack"], 12) for one in found["fullest"]]
    assert "Gbit/s by rack" not in text_of(browser.get("/regions/east").text), "no rack of it has a limit"
