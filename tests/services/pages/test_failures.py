"""Buffers and failures: what the API says about losses, buffers, failures and maintenance, in names."""

import csv
import io
import re
from types import SimpleNamespace

import pytest
from markupsafe import Markup

from services.pages.api import Part
from services.pages.views.failure_tables import of_failures, of_losses, of_maintenance
from tests.builders.pages_world import RRU
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
    breaking = sum(one["broken"] > 0 for one in losses)
    assert f"{breaking} of {len(losses)} losses of one MSB leave a guarded reservation short" in said
    assert "is less than its promise" in said
    for one in losses:
        badge = f"{one['broken']} short" if one["broken"] else "others short" if one["short"] else "none short"
        row = next(row for row in re.findall(r"<tr>(.*?)</tr>", page.text, re.DOTALL) if f">{one['msb']}<" in row)
        assert f">{badge}<" in row, one["msb"]


def test_a_further_kind_is_chosen_and_each_loss_leads_to_its_what_if(log_in, world, api) -> None:
    servers = api.get("/v1/servers", params={"region": "west", "limit": 1000}).json()["items"]
    web = [one for one in servers if one["current_reservation"] == "web" and one["unavailability"] == "none"]
    rest = {one["domains"]["network_block"]: 24.0 for one in web}
    for block in rest:
        rest[block] -= sum(RRU[one["hardware_type"]] for one in web if one["domains"]["network_block"] != block)
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/failures?kind=network_block").text
    said = text_of(page)
    assert "If one network block went now" in said
    assert '<option value="network_block" selected>network block</option>' in page
    assert "0 of 8 losses of one network block leave a guarded reservation short" in said, "no promise names the kind"
    for block, lacks in rest.items():
        row = next(row for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL) if f">{block}<" in row)
        assert (f"</a> lacks {lacks:.12g} of 24 RRU, not guarded" in row) is (lacks > 1e-6), block
        asked = re.search(r'href="([^"]+)">What if\?<', row)[1]
        question = browser.get(asked).text
        assert f'name="lose:network_block" value="{block}"' in question
        assert f"network block {block} is lost" in text_of(question)
    assert any(lacks > 1e-6 for lacks in rest.values())
    assert browser.get("/regions/west/failures?kind=power_row").status_code == 422


@pytest.mark.parametrize(
    ("kind", "domain", "leads_to"),
    [
        ("network_block", "b:1", "/regions/west/what-if?lose%3Anetwork_block%3Ab%3A1=on"),
        ("network_block", "servers without a network_block", None),
        ("rack", "rack-1", "/regions/west/what-if?lose_racks=rack-1"),
    ],
)
def test_what_can_fail_leads_to_its_what_if_and_a_cut_list_says_so(
    kind: str, domain: str, leads_to: str | None
) -> None:
    row = {"domain": domain, "datacenter": None, "broken": 0, "reservations_short": 0, "missing_rru": 0, "short": []}
    row |= dict.fromkeys(("servers", "down", "in_use", "spare", "reservations"), 1)
    losses = {"kind": kind, "items": [row], "domains": 1200}
    table = of_losses(SimpleNamespace(path="/regions/west/failures", query={}), "west", losses)
    assert table.act(row) == ("" if leads_to is None else f'<a href="{leads_to}">What if?</a>')
    assert table.cut == "These are the worst 1 of 1,200."


def test_an_event_of_a_domain_is_shown_with_its_kind() -> None:
    visit = SimpleNamespace(path="/regions/west/failures", query={})
    one = {"unavailability_event_id": 1, "scope": "network_block", "scope_name": "block-03"}
    part = Part(items=[one], next_cursor=None)
    for table in (of_failures(visit, "west", part), of_maintenance(visit, "west", part, [])):
        columns = {column.key: column for column in table.columns}
        assert columns["scope"].cells([one]) == ["network block"]
        assert columns["name"].cells([one]) == ["block-03"], "only servers have a page"


def test_servers_that_maintenance_does_not_take_are_told_with_the_reason() -> None:
    visit = SimpleNamespace(path="/regions/west/failures", query={})
    answer = {"verdict": "queued", "message": "it waits until msb-02 is up again; see `plimsoll status`"}
    events = [{"unavailability_event_id": 1, "newcomers": {"servers": 1200, "answer": answer}}]
    events += [{"unavailability_event_id": 2, "newcomers": None}, {"unavailability_event_id": 3}]
    events = [{**one, "scope": "rack", "scope_name": "rack-01"} for one in events]
    table = of_maintenance(visit, "west", Part(items=events, next_cursor=None), [])
    (column,) = [one for one in table.columns if one.key == "later"]
    assert [column.value(one) for one in events] == [f"1,200 not taken: {answer['message']}", None, None]
    first, *rest = (Markup(cell).striptags() for cell in column.cells(events))
    assert first == "1,200 not taken it waits until msb-02 is up again; see plimsoll status"
    assert {*rest} == {"–"}


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
    asked = browser.get("/regions/west/failures?scope=network_block&place=block-03").text
    assert '<option value="network_block" selected>network block</option>' in asked
    assert "is the answer for block-03 now" in text_of(asked)
    for unknown in ("scope=network_block&place=blok-03", "scope=power_row&place=row-7"):
        shown = browser.get(f"/regions/west/failures?{unknown}")
        assert (shown.status_code, 'role="alert"' in shown.text) == (200, True)
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
