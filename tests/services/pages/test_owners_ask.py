"""Owners ask for capacity, check the answer before, and amend what they asked for."""

import re
from datetime import timedelta

import pytest

from tests.builders.pages_world import RRU
from tests.services.pages.test_pages import text_of

WORTH = {f"rru:{kind}": str(rru) for kind, rru in RRU.items()}
ASK = {"name": "new", "owner": "search", "capacity_rru": "6", "priority": "2", **WORTH}


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def test_a_check_answers_as_the_request_would_and_changes_nothing(log_in, world, api) -> None:
    browser = log_in(world.owner)
    page = browser.post("/regions/west/ask", data=ASK | {"action": "check"})
    assert page.status_code == 200
    said = text_of(page.text)
    assert "is the answer that it would get now" in said
    assert 'value="new"' in page.text, "the form keeps what was filled in"
    part = browser.post("/regions/west/ask", data=ASK | {"action": "ask"}, headers={"HX-Request": "true"})
    assert "is the answer that it would get now" in part.text, "a call of the island never asks in earnest"
    assert "<form" not in part.text
    assert api.get("/v1/reservations", params={"region": "west", "name": "new"}).json()["items"] == []


def test_each_wrong_field_is_named(log_in, world) -> None:
    browser = log_in(world.owner)
    for change, said in (
        ({"capacity_rru": "many"}, "must be a number, not many"),
        ({"capacity_rru": "-1"}, "at least 0.000001"),
        ({"capacity_rru": ""}, "is required"),
        (dict.fromkeys(WORTH, ""), "at least one hardware type"),
        ({"name": "no spaces"}, "name"),
        ({"ends_at": "soon"}, "must be a date and a time"),
    ):
        page = browser.post("/regions/west/ask", data=ASK | change | {"action": "ask"})
        assert page.status_code == 422, change
        assert said in page.text, change
    others = browser.post("/regions/west/ask", data=ASK | {"owner": "batch-team", "action": "ask"})
    assert (others.status_code, "may not act for batch-team" in others.text) == (422, True)


def test_an_owner_asks_resizes_and_is_sent_to_the_decision(log_in, world, api) -> None:
    browser = log_in(world.owner)
    form = ASK | {"name": "asked", "action": "ask", "key": "0b2d6a1e-asked"}
    for _ in range(2):  # a form that is sent twice asks once
        sent = browser.post("/regions/east/ask", data=form)
        assert (sent.status_code, sent.headers["location"]) == (303, "/regions/east/requests?reservation=asked")
    assert len(api.get("/v1/capacity-requests", params={"reservation": "asked"}).json()["items"]) == 1
    world.live(2)
    assert "Granted" in browser.get("/regions/east/requests?reservation=asked").text
    resize = browser.get("/regions/east/ask?resize=asked").text
    generation = re.search(r'name="generation" value="(\d+)"', resize)
    assert 'value="6"' in resize
    form = {"generation": generation[1], "capacity_rru": "7", "priority": "2", "action": "ask"}
    form |= WORTH
    assert browser.post("/regions/east/ask?resize=asked", data=form).status_code == 303
    world.live(2)
    row = api.get("/v1/reservations", params={"region": "east", "name": "asked"}).json()["items"][0]
    assert row["spec"]["capacity_rru"] == 7
    stale = browser.post("/regions/east/ask?resize=asked", data=form | {"capacity_rru": "8"})
    assert (stale.status_code, 'role="alert"' in stale.text) == (422, True)


def test_an_owner_asks_for_memory_beside_the_capacity(log_in, world, api) -> None:
    types = api.get("/v1/regions/east/type-counts").json()["items"]
    kind = f"/v1/hardware-types/{max(types, key=lambda one: one['free'])['hardware_type']}"
    known = api.get(kind)
    put = {"attributes": known.json()["attributes"] | {"memory_gb": 192}}
    assert api.put(kind, json=put, headers={"If-Match": known.headers["etag"]}).status_code == 200
    browser = log_in(world.owner)
    assert 'name="resource:memory_gb"' in browser.get("/regions/east/ask").text
    form = ASK | {"name": "rich", "resource:memory_gb": "150", "resource:vcpu": "", "action": "ask", "key": "0b2d-rich"}
    refused = browser.post("/regions/east/ask", data=form | {"resource:memory_gb": "-1"})
    assert (refused.status_code, 'id="resource:memory_gb-wrong"' in refused.text) == (422, True)
    assert "--resource memory_gb=150" in browser.post("/regions/east/ask", data=form | {"action": "check"}).text
    assert browser.post("/regions/east/ask", data=form).status_code == 303
    world.live(2)
    row = api.get("/v1/reservations", params={"region": "east", "name": "rich"}).json()["items"][0]
    assert row["spec"]["resources"] == {"memory_gb": 150}
    memory = row["status"]["resources"][0]
    assert memory["target"] > 0
    said = text_of(browser.get("/regions/east/reservations/rich").text)
    assert f"And memory_gb 150; holds {memory['held']:g}" in said
    assert 'value="150"' in browser.get("/regions/east/ask?resize=rich").text
    path = f"/v1/reservations/{row['reservation_id']}"  # other tests need the servers
    assert api.delete(path, headers={"If-Match": api.get(path).headers["etag"]}).status_code == 200
    world.live(2)


def test_an_owner_says_what_the_reservation_sends(log_in, world, api) -> None:
    browser = log_in(world.owner)

    def sends() -> float:
        [row] = api.get("/v1/reservations", params={"region": "east", "name": "sender"}).json()["items"]
        return row["spec"]["gbit_per_rru"]

    form = ASK | {"name": "sender", "capacity_rru": "1", "gbit_per_rru": "0.25", "action": "ask", "key": "sender-1"}
    for wrong, said in (("-1", "at least 0"), ("10001", "at most 10000"), ("x", "not x")):
        refused = browser.post("/regions/east/ask", data=form | {"gbit_per_rru": wrong})
        assert refused.status_code == 422
        found = re.search(r'id="gbit_per_rru-wrong">([^<]+)<', refused.text)
        assert found is not None
        assert said in found[1]
    assert "--gbit-per-rru 0.25" in browser.post("/regions/east/ask", data=form | {"action": "check"}).text
    assert browser.post("/regions/east/ask", data=form).status_code == 303
    world.live(2)
    assert sends() == 0.25
    page = browser.get("/regions/east/ask?resize=sender").text
    assert re.search(r'id="gbit_per_rru"[^>]* value="0.25"', page)
    generation = re.search(r'name="generation" value="(\d+)"', page)[1]
    resize = ASK | {"capacity_rru": "1", "generation": generation, "gbit_per_rru": "", "action": "ask"}
    assert browser.post("/regions/east/ask?resize=sender", data=resize).status_code == 303
    world.live(2)
    assert sends() == 0, "an emptied field takes it back"
    [row] = api.get("/v1/reservations", params={"region": "east", "name": "sender"}).json()["items"]
    path = f"/v1/reservations/{row['reservation_id']}"  # other tests need the servers
    assert api.delete(path, headers={"If-Match": api.get(path).headers["etag"]}).status_code == 200
    world.live(2)


def test_an_owner_asks_for_a_share_of_the_servers_of_another_reservation(log_in, world, api) -> None:
    browser = log_in(world.owner)

    def row_of(name: str) -> dict:
        return api.get("/v1/reservations", params={"region": "east", "name": name}).json()["items"][0]

    inn = ASK | {"name": "inn", "capacity_rru": "1"}
    assert browser.post("/regions/east/ask", data=inn | {"action": "ask", "key": "guest-1"}).status_code == 303
    world.live(2)
    form = inn | {"name": "stays", "capacity_rru": "0.2", "guest_of": "inn", "guest_share": "0.25"}
    checked = browser.post("/regions/east/ask", data=form | {"action": "check"}).text
    assert "--guest-of inn --guest-share 0.25" in checked
    refused = browser.post("/regions/east/ask", data=form | {"guest_of": "in", "action": "ask", "key": "guest-2"})
    assert (refused.status_code, 'id="guest_of-wrong"' in refused.text) == (422, True)
    assert browser.post("/regions/east/ask", data=form | {"action": "ask", "key": "guest-3"}).status_code == 303
    world.live(2)
    assert (row_of("stays")["spec"]["guest_of"], row_of("stays")["spec"]["guest_share"]) == ("inn", 0.25)
    assert "Guest of inn , with 25" in text_of(browser.get("/regions/east/reservations/stays").text)
    assert "Guests stays with 25" in text_of(browser.get("/regions/east/reservations/inn").text)
    generation = re.search(r'name="generation" value="(\d+)"', browser.get("/regions/east/ask?resize=stays").text)
    assert generation is not None
    resize = ASK | {"capacity_rru": "0.1", "generation": generation[1], "action": "ask", "key": "guest-4"}
    assert browser.post("/regions/east/ask?resize=stays", data=resize).status_code == 303
    world.live(2)
    assert (row_of("stays")["spec"]["guest_of"], row_of("stays")["spec"]["capacity_rru"]) == ("inn", 0.1)
    for name in ("stays", "inn"):
        url = f"/v1/reservations/{row_of(name)['reservation_id']}"
        assert api.delete(url, headers={"If-Match": api.get(url).headers["etag"]}).status_code == 200
    world.live(2)


def test_a_start_ahead_says_whether_it_is_a_promise_before_and_after_it_is_asked(log_in, world, api) -> None:
    browser = log_in(world.owner)
    starts_at = (world.platform.clock.now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
    form = ASK | {"name": "ahead", "capacity_rru": "2", "starts_at": starts_at}
    assert "servers are booked for it" in text_of(
        browser.post("/regions/east/ask", data=form | {"action": "check"}).text
    )
    assert browser.post("/regions/east/ask", data=form | {"action": "ask", "key": "ahead-1"}).status_code == 303
    world.live(2)
    page = text_of(browser.get("/regions/east/reservations/ahead").text)
    assert "Booked" in page
    assert "servers are booked for it" in page
    assert "2 RRU promised" in page
    [row] = api.get("/v1/reservations", params={"region": "east", "name": "ahead"}).json()["items"]
    assert row["status"]["booked_servers"] > 0
    starts_at = (world.platform.clock.now() + timedelta(days=60)).strftime("%Y-%m-%dT%H:%M")
    form = ASK | {"name": "far-ahead", "capacity_rru": "2", "starts_at": starts_at, "action": "ask", "key": "ahead-2"}
    assert browser.post("/regions/east/ask", data=form).status_code == 303
    world.live(2)
    page = text_of(browser.get("/regions/east/reservations/far-ahead").text)
    assert "which is no promise yet" in page
    assert "2 RRU asked for" in page
    assert "are granted;" not in page
    assert "RRU promised" not in page


def test_an_undecided_request_is_amended_and_a_decided_one_is_not(log_in, world, api) -> None:
    asked = {"region": "east", "name": "amended", "owner": "search", "spec": {"capacity_rru": 2, "rru": RRU}}
    with world.client(world.owner) as owner:
        assert owner.post("/v1/reservations", json=asked).status_code == 202
    [one] = api.get("/v1/capacity-requests", params={"region": "east", "reservation": "amended"}).json()["items"]
    browser, address = log_in(world.owner), f"/regions/east/ask?amend={one['capacity_request_id']}"
    page = browser.get(address).text
    assert "Amend amended" in page
    generation = re.search(r'name="generation" value="(\d+)"', page)[1]
    form = {"generation": generation, "capacity_rru": "1", "priority": "2", **WORTH}
    checked = browser.post(address, data=form | {"action": "check"})
    assert "is the answer that it would get now" in checked.text
    path = f"/v1/capacity-requests/{one['capacity_request_id']}"
    assert api.get(path).json()["spec"]["capacity_rru"] == 2, "a check changes nothing"
    assert browser.post(address, data=form | {"action": "ask"}).status_code == 303
    assert api.get(path).json()["spec"]["capacity_rru"] == 1
    stale = browser.post(address, data=form | {"action": "ask"})
    assert (stale.status_code, 'role="alert"' in stale.text) == (422, True)
    world.live(2)
    decided = browser.get(address)
    assert (decided.status_code, "It is decided already" in decided.text) == (409, True)
    assert browser.get("/regions/west/ask?amend=999999").status_code == 404
    assert browser.get(f"/regions/west/ask?amend={one['capacity_request_id']}").status_code == 404, "of another region"
