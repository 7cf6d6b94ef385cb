"""Buffers and failures: what the API says about losses, buffers, failures and maintenance, in names."""

import csv
import io
import re

import pytest

from tests.services.pages.test_pages import text_of


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def test_the_loss_of_each_msb_names_who_would_be_short(log_in, world, api) -> None:
    losses = api.get("/v1/regions/west/msb-losses").json()["items"]
    web = api.get("/v1/regions/west/server-counts", params={"reservation": "web"}).json()["items"]
    held = sum(one["held_rru"] for one in web)
    for one in losses:
        here = sum(place["held_rru"] for place in web if place["msb"] == one["msb"])
        lacks = 24 - (held - here)
        found = [short["missing_rru"] for short in one["short"] if short["reservation"] == "web"]
        assert found == ([pytest.approx(lacks)] if here > 0 and lacks > 1e-6 else []), one["msb"]
    worst = max(losses, key=lambda one: one["missing_rru"])
    page = log_in(world.viewer).get("/regions/west/failures")
    assert page.status_code == 200
    rows = re.findall(r'<th scope="row"[^>]*>(msb-\d+)<', page.text)
    assert rows[0] == worst["msb"], "the worst comes first"
    said = text_of(page.text)
    named = [short for one in losses for short in one["short"]]
    assert "batch" not in {short["reservation"] for short in named}, "it waits, and nothing of it is promised"
    for short in (one["short"][0] for one in losses if one["short"]):
        assert f"{short['reservation']} lacks" in said
        assert f'href="/regions/west/reservations/{short["reservation"]}"' in page.text
    assert "MSBs whose loss leaves a guarded reservation short" in said
    assert "is less than its promise" in said
    for one in losses:
        badge = f"{one['broken']} short" if one["broken"] else "others short" if one["short"] else "none short"
        row = next(row for row in re.findall(r"<tr>(.*?)</tr>", page.text, re.DOTALL) if f">{one['msb']}<" in row)
        assert f">{badge}<" in row, one["msb"]


def test_a_failure_its_replacement_and_the_buffer_are_told(log_in, world, api) -> None:
    found = api.get("/v1/regions/west/replacements").json()
    assert found["joined"] >= 1
    one = found["latest"][0]
    browser = log_in(world.viewer)
    said = text_of(browser.get("/regions/west/failures").text)
    assert f"{one['server']} {one['spare']} {one['reservation']}" in said
    assert "2 servers down" in said
    assert f"{found['joined']} of {found['drawn']} replacements done" in said
    rows = csv.DictReader(io.StringIO(browser.get("/regions/west/failures?format=csv&table=buffers").text))
    buffers = api.get("/v1/reservations", params={"region": "west", "kind": "shared_buffer"}).json()["items"]
    assert sum(float(row["There"]) for row in rows) == sum(one["status"]["held_rru"] for one in buffers)
    rows = list(csv.DictReader(io.StringIO(browser.get("/regions/west/failures?format=csv&table=failures").text)))
    assert {row["Reason"] for row in rows} == {"disk"}
    rows = list(csv.DictReader(io.StringIO(browser.get("/regions/west/failures?format=csv").text)))
    assert len(rows) == len(api.get("/v1/regions/west/msb-losses").json()["items"])


def test_the_queue_of_maintenance_says_what_it_waits_for_by_name(log_in, world, api) -> None:
    events = api.get("/v1/unavailability-events", params={"region": "west", "open": "true"}).json()["items"]
    by_state = {one["state"]: one for one in events if one["kind"] == "planned"}
    page = log_in(world.viewer).get("/regions/west/failures").text
    said = text_of(page)
    assert by_state["queued"]["answer"]["message"] in said
    waits = re.search(rf"{by_state['queued']['scope_name']}(?:</a>)?</th>.*?</tr>", page, re.S)
    assert by_state["allowed"]["scope_name"] in waits[0], "the event that it waits for, and no number"
    assert "Queued at place 1:" in said


def test_maintenance_is_foreseen_and_nothing_is_kept(log_in, world, api) -> None:
    def events() -> int:
        return len(api.get("/v1/unavailability-events", params={"region": "west"}).json()["items"])

    before, browser = events(), log_in(world.operator)
    said = text_of(browser.get("/regions/west/failures?scope=msb&place=msb-01").text)
    assert "Refused is the answer for msb-01 now" in said
    assert "a quarter" in said
    unknown = browser.get("/regions/west/failures?scope=rack&place=nowhere")
    assert (unknown.status_code, 'role="alert"' in unknown.text) == (200, True)
    odd = browser.get("/regions/west/failures?scope=planet&place=x")
    assert (odd.status_code, 'role="alert"' in odd.text) == (200, True)
    assert events() == before


def test_a_viewer_reads_why_they_cannot_ask(log_in, world) -> None:
    browser = log_in(world.viewer)
    assert "you need a token of role operator or health" in browser.get("/regions/west/failures").text
    asked = browser.get("/regions/west/failures?scope=msb&place=msb-01")
    assert (asked.status_code, 'role="alert"' in asked.text) == (200, True)


def test_a_quiet_region_says_so(log_in, world) -> None:
    said = text_of(log_in(world.viewer).get("/regions/east/failures").text)
    assert "Nothing is down." in said
    assert "plimsoll drain asks for it" in said, "and its command is no backtick"
