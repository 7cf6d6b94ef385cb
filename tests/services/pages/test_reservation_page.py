"""One reservation and one server: what is under way, how to return it, and why each server is where it is."""

import csv
import io
import re
from datetime import timedelta
from html import unescape
from unittest.mock import Mock

import pytest

from services.pages.views.reservations import RESERVATIONS
from tests.builders.pages_world import RRU
from tests.services.pages.test_pages import text_of

QUIET = "/regions/east/reservations"


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


@pytest.fixture
def ask(world, api):
    """Ask for a reservation of the quiet region, and return it at the end, so that the region is as before."""
    asked = []

    def make(name: str, owner: str, **more: object) -> None:
        spec = {"capacity_rru": 2, "rru": RRU, **more}
        body = {"region": "east", "name": name, "owner": owner, "spec": spec}
        api.post("/v1/reservations", json=body).raise_for_status()
        asked.append(name)
        world.live(2)

    yield make
    for name in asked:
        if found := only(api, name):
            path, generation = f"/v1/reservations/{found['reservation_id']}", found["generation"]
            api.delete(path, headers={"If-Match": f'"{generation}"'}).raise_for_status()


def only(api, name: str, region: str = "east") -> dict | None:
    found = api.get("/v1/reservations", params={"region": region, "name": name}).json()["items"]
    return api.get(f"/v1/reservations/{found[0]['reservation_id']}").json() if found else None


def under_way_of(api, found: dict) -> dict:
    return api.get(f"/v1/reservations/{found['reservation_id']}/under-way").json()


def fields_of(html: str) -> dict[str, str]:
    """Return the hidden fields of the form that returns a reservation."""
    form = re.search(r'<form[^>]*id="return".*?</form>', html, re.S)[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_the_page_of_a_rejected_request_tells_what_was_decided(log_in, world, api) -> None:
    spec = {"capacity_rru": 90_000, "rru": RRU}
    body = {"kind": "create", "region": "east", "reservation": "moon", "owner": "search", "spec": spec}
    number = api.post("/v1/capacity-requests", json=body).raise_for_status().json()["capacity_request_id"]
    world.live(1)
    decided = api.get(f"/v1/capacity-requests/{number}").json()["status"]
    assert decided["phase"] == "rejected"
    browser = log_in(world.owner)
    for path in (f"{QUIET}/moon", "/regions/east/ask?resize=moon"):
        page = browser.get(path)
        said = text_of(page.text)
        assert page.status_code == 404
        assert f"There is no reservation moon in east. Its latest request {number} (create) is rejected:" in said
        assert decided["message"] in said
    (way,) = re.findall(rf'href="([^"]*open={number})"', page.text)
    assert "Request for moon" in browser.get(unescape(way)).text


def test_the_page_tells_all_that_was_asked_for(log_in, world, api, ask) -> None:
    kind = api.get("/v1/hardware-types/r5.metal")
    put = {"attributes": kind.json()["attributes"] | {"gpus": 8}}
    assert api.put("/v1/hardware-types/r5.metal", json=put, headers={"If-Match": kind.headers["etag"]}).is_success
    wishes = {"msb_spread_limit": 0.5, "rack_spread_limit": 0.25, "gbit_per_rru": 1.5, "move_cost": 0.5}
    ask("wisher", "search", **wishes, survives_msb_loss=False, resources={"gpus": 1})
    said = text_of(log_in(world.owner).get(f"{QUIET}/wisher").text)
    for wish in (
        "Rather in one MSB at most 50 %",
        "Rather in one rack at most 25 %",
        "Sends per RRU 1.5 Gbit/s",
        "Moves cost 0.5 times as much",
    ):
        assert wish in said
    assert "And gpus 1; holds" in said
    assert "after the worst loss" not in said, "it need not survive a loss"


def test_one_that_has_not_begun_lacks_nothing(log_in, world, api) -> None:
    spec = {"capacity_rru": 2, "rru": RRU, "starts_at": (world.platform.clock.now() + timedelta(days=60)).isoformat()}
    body = {"region": "east", "name": "later", "owner": "search", "spec": spec}
    api.post("/v1/reservations", json=body).raise_for_status()
    world.live(1)
    page = log_in(world.viewer).get(f"{QUIET}/later").text
    found = only(api, "later")
    api.delete(f"/v1/reservations/{found['reservation_id']}", headers={"If-Match": f'"{found["generation"]}"'})
    (tile,) = re.findall(r'<div class="tile([^"]*)">(?:(?!class="tile).)*RRU held after MSB loss', page, re.S)
    assert tile.strip() == ""


def test_what_is_under_way_is_told_with_its_time_or_its_cause(log_in, world, api, ask) -> None:
    """The mover of east is paused, so the cause is told. Without the pause, the time is."""

    def mover_is(verb: str, reason: str) -> None:
        with world.client(world.operator) as operator:  # other tests look for what the admin did
            operator.post(f"/v1/movers/east/{verb}", json={"reason": reason}).raise_for_status()

    ask("coming", "search")
    browser = log_in(world.viewer)
    arriving = under_way_of(api, only(api, "coming"))["arriving"]
    assert (arriving["waiting"], arriving["expected_at"]) == (arriving["servers"], None)
    assert "the pause of the mover (power work until Monday)" in arriving["message"]
    assert arriving["message"] in text_of(browser.get(f"{QUIET}/coming").text)
    mover_is("resume", "for a moment")
    try:
        arriving = under_way_of(api, only(api, "coming"))["arriving"]
        assert (arriving["waiting"], arriving["causes"]) == (0, [])
        assert arriving["expected_at"] == arriving["not_before"] > world.platform.clock.now().isoformat()
        assert f"{arriving['servers']} servers are on their way to it: by about" in text_of(
            browser.get(f"{QUIET}/coming").text
        )
    finally:
        mover_is("pause", "power work until Monday")
    names = [one["name"] for one in api.get("/v1/reservations", params={"region": "west"}).json()["items"]]
    still = [name for name in names if under_way_of(api, only(api, name, "west"))["message"] == ""]
    assert still, "some reservation of west is at rest"
    assert "No server is on its way to or from it." in browser.get(f"/regions/west/reservations/{still[0]}").text


def test_an_owner_returns_what_they_read(log_in, world, api, ask) -> None:
    ask("back", "search")
    browser = log_in(world.owner)
    page = browser.get(f"{QUIET}/back").text
    assert f'href="{QUIET}/back?return=1#return"' in page
    assert 'value="return"' not in page, "nothing is returned without the answer to a dry run"
    asked = browser.get(f"{QUIET}/back?return=1").text
    servers = only(api, "back")["status"]["target"]["servers"]
    assert f"back would be deleted: the mover frees its {servers} servers, none of them in use." in text_of(asked)
    stale = fields_of(asked)
    only_id = only(api, "back")["reservation_id"]
    change = {"spec": {"capacity_rru": 1}}
    api.patch(f"/v1/reservations/{only_id}", json=change, headers={"If-Match": f'"{stale["generation"]}"'})
    world.live(2)
    refused = browser.post(f"{QUIET}/back", data={**stale, "deed": "return", "reason": "not needed"})
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)
    assert 'value="not needed"' in refused.text, "the reason is kept"
    assert only(api, "back") is not None
    fresh = fields_of(refused.text)
    assert fresh["generation"] != stale["generation"]
    done = browser.post(f"{QUIET}/back", data={**fresh, "deed": "return", "reason": "not needed"})
    assert (done.status_code, done.headers["location"]) == (303, "/regions/east/requests?reservation=back")
    assert only(api, "back") is None
    entries = api.get("/v1/audit-entries", params={"action": "delete"}).json()["items"]
    assert "not needed" in [one["reason"] for one in entries]


def test_who_may_not_return_it_reads_why(log_in, world, api, ask) -> None:
    ask("theirs", "mail")
    browser = log_in(world.owner)
    page = browser.get(f"{QUIET}/theirs?return=1").text
    assert "It belongs to mail, and you may not act for this owner." in page
    assert 'value="return"' not in page
    generation = str(only(api, "theirs")["generation"])
    form = {"deed": "return", "generation": generation}
    refused = browser.post(f"{QUIET}/theirs", data=form)
    assert (refused.status_code, only(api, "theirs") is None) == (409, False)
    broken = browser.post(f"{QUIET}/theirs", data={"deed": "return", "generation": "x"})
    assert (broken.status_code, "The form cannot be read." in broken.text) == (409, True)
    buffers = api.get("/v1/reservations", params={"region": "west", "kind": "shared_buffer"}).json()["items"]
    buffer = browser.get(f"/regions/west/reservations/{buffers[0]['name']}").text
    assert "The policy of the region sizes this reservation." in buffer


def test_a_viewer_cannot_return_anything(log_in, world) -> None:
    page = log_in(world.viewer).get("/regions/west/reservations/web?return=1").text
    assert "Requesters and operators return reservations. You have another role." in page
    assert 'value="return"' not in page


def test_a_form_of_another_site_returns_nothing(log_in, world, api, ask) -> None:
    ask("kept", "search")
    browser = log_in(world.owner)
    form = {"deed": "return", "generation": str(only(api, "kept")["generation"])}
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
    refused = browser.post(f"{QUIET}/kept", data=form, headers=elsewhere)
    assert (refused.status_code, only(api, "kept") is None) == (403, False)


def test_every_listed_server_leads_to_why_it_is_there(log_in, world, api, ask) -> None:
    ask("taker", "search")
    browser = log_in(world.viewer)
    page = browser.get("/regions/east/servers").text
    rows = list(csv.DictReader(io.StringIO(browser.get("/regions/east/servers?format=csv").text)))
    assert len(re.findall(r'aria-label="Why [^"]+">Why</a>', page)) == len(rows)
    free = next(row["Server"] for row in rows if not row["Target"])
    url = unescape(re.search(rf'href="([^"]+)" aria-label="Why {free} is free"', page)[1]).partition("#")[0]
    assert url == f"/regions/east/servers/{free}"
    shown = browser.get(url).text
    assert "Why it is free" in text_of(shown)
    assert f"plimsoll explain --region east --server {free}" in unescape(shown)
    later = unescape(re.search(r'hx-get="([^"]+)" hx-trigger="load"', shown)[1])
    waited = unescape(re.search(r'<noscript>.*?href="([^"]+)"', shown)[1]).partition("#")[0]
    [server] = api.get("/v1/servers", params={"region": "east", "name": free}).json()["items"]
    path = f"/v1/servers/{server['server_id']}/explain"
    why = api.get(path).json()["summary"]
    assert free in why
    assert why in said(browser.get(later, headers={"HX-Request": "true"}).text)
    assert why in said(browser.get(waited).text)
    compared = api.get(path, params={"to": "taker"}).json()
    assert compared["moves"][0]["to_reservation"] == "taker"
    assert compared["summary"] in said(browser.get(f"{url}?to=taker&wait=1").text)
    unknown = browser.get(f"{url}?to=takr&wait=1").text
    assert "taker" in re.search(r'role="alert">([^<]+)<', unknown)[1], "the nearest name"
    taken = next(row["Server"] for row in rows if row["Target"] == "taker")
    assert "Why it is in taker" in text_of(browser.get(f"/regions/east/servers/{taken}").text)
    assert browser.get("/regions/east/servers/none").status_code == 404


def said(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_request_that_waits_says_how_much_of_it_was_granted(log_in, world, api) -> None:
    status = only(api, "batch", "west")["status"]
    assert (status["granted_rru"], status["capacity_rru"]) == (0, 240)
    browser = log_in(world.viewer)
    page = text_of(browser.get("/regions/west/reservations/batch").text)
    assert "0 of 240 RRU are granted; the other 240 wait until all of them are there." in page
    assert "240 RRU asked for" in page
    assert "mark: asked for" in page
    assert "None of the 240 RRU asked for is granted yet, so none is promised." in page
    assert "asked for granted of it held The last" in page
    granted = text_of(browser.get("/regions/west/reservations/web").text)
    assert "are granted;" not in granted
    assert "asked for and granted held after MSB loss" in granted
    assert "24 RRU promised" in granted
    assert "mark: promised" in granted


def test_the_list_calls_only_what_was_granted_a_promise(log_in, world) -> None:
    page = log_in(world.viewer).get("/regions/west/reservations").text
    rows = {row.split()[0]: row for row in map(said, re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL))}
    assert "0 of 240 granted" in rows["batch"]
    assert "of 24 granted" not in rows["web"]
    assert {"Promised RRU", "Holds its promise"}.isdisjoint(re.findall(r">\s*([^<>]+?)\s*<", page))
    assert "Capacity RRU" in said(page)
    assert "Holds its capacity" in said(page)


@pytest.mark.parametrize(
    ("granted_rru", "cell"), [(0.0, "Not there yet 0 of 150 granted"), (100.0, "Not there yet 100 of 150 granted")]
)
def test_a_listed_request_that_waits_has_what_was_granted_of_it(granted_rru: float, cell: str) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "NotThereYet", "message": ""}
    status = {"phase": "degraded", "conditions": [ready], "granted_rru": granted_rru}
    row = {"spec": {"capacity_rru": 150.0}, "status": status}
    [column] = [one for one in RESERVATIONS.columns(Mock()) if one.title == "Holds its capacity"]
    assert [said(str(one)) for one in column.cells([row])] == [cell]
    for other in ({"phase": "scheduled"}, {"granted_rru": 150.0}):
        row["status"] = status | other
        assert [said(str(one)) for one in column.cells([row])] == ["Not there yet"]


def test_the_page_of_a_deleted_reservation_tells_when_and_shows_its_past(log_in, world, api, ask) -> None:
    ask("brief", "search")
    found = only(api, "brief")
    api.delete(f"/v1/reservations/{found['reservation_id']}", headers={"If-Match": f'"{found["generation"]}"'})
    world.live(2)
    browser = log_in(world.operator)
    answer = browser.get(f"{QUIET}/brief")
    page = text_of(answer.text)
    assert answer.status_code == 200, page
    assert "It was deleted" in page
    assert "Asked for and held" in page
    for deed in ("Return it", "Resize it", "Explain the reservation"):
        assert deed not in page
    assert browser.get(f"{QUIET}/brief?explain=1&return=1").status_code == 200
    ask("brief", "search")
    assert "It was deleted" not in text_of(browser.get(f"{QUIET}/brief").text), "one of this name lives again"
