"""Pages say what the API says, take forms, and keep filters and orders in the URL."""

import csv
import io
import re
import subprocess
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.builders.pages_world import RRU

WORTH = {f"rru:{kind}": str(rru) for kind, rru in RRU.items()}
ASK = {"name": "new", "owner": "search", "capacity_rru": "6", "priority": "2", **WORTH}


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("<footer")[0]).split())


def test_no_service_is_told_to_read_a_reason(log_in, world) -> None:
    page = text_of(log_in(world.admin).get("/regions/west/approvals").text)
    assert "Moves below a promise waits for a decision" in page
    assert "ann will read the reason. The audit trail keeps it." in page
    assert "solver.waves will read" not in page
    assert "The audit trail keeps the reason." in page


def test_the_region_names_what_is_amiss_with_its_page(log_in, world, api) -> None:
    page = log_in(world.viewer).get("/regions/west").text
    summary = api.get("/v1/regions/west/summary").json()
    assert summary["degraded"] >= 1
    assert 'href="/regions/west/reservations/batch"' in page
    assert re.search(r"changes wait for a decision: [^.]*\bcrawl\b", page), "beside the moves below a promise"
    assert "moves below a promise" in page
    promised = round(summary["readiness"]["capacity_rru"])
    assert f"{promised} RRU promised" in text_of(page)
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


def test_a_reservation_shows_its_four_numbers_and_its_margin(log_in, world, api) -> None:
    row = api.get("/v1/reservations", params={"region": "west", "name": "ads/serving"}).json()["items"][0]
    page = log_in(world.viewer).get("/regions/west/reservations/ads/serving")
    assert page.status_code == 200
    said, status = text_of(page.text), row["status"]
    assert "18 RRU promised" in said
    assert f"{status['held_after_msb_loss_rru']:g} RRU held after MSB loss" in said
    assert "worst" in said, "the row of the worst MSB is marked"
    ready = status["conditions"][1]["message"].replace("`", " ")  # commands are elements
    assert " ".join(ready.split()) in said
    assert "Held against promised" in said


def test_a_reservation_explains_itself_and_a_server(log_in, world, api) -> None:
    """The page comes at once. The explanation follows as a part of it, or a link waits for it without scripts."""
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/reservations/web?explain=1").text
    assert 'hx-get="/regions/west/reservations/web?explain=1" hx-trigger="load"' in page
    assert "whichever MSB is lost" not in page
    part = browser.get("/regions/west/reservations/web?explain=1", headers={"HX-Request": "true"}).text
    assert "web needs 24 RRU whichever MSB is lost" in part
    assert "<h1" not in part, "only the explanation"
    waited = browser.get(unescape(re.search(r'<noscript>.*?href="([^"]+)"', page)[1])).text
    assert "web needs 24 RRU whichever MSB is lost" in text_of(waited)
    servers = api.get("/v1/servers", params={"region": "west", "target_reservation": "web", "limit": 1}).json()["items"]
    asked = f"/regions/west/reservations/web?server={servers[0]['name']}&to=free"
    assert servers[0]["name"] in browser.get(asked, headers={"HX-Request": "true"}).text
    unknown = browser.get("/regions/west/reservations/web?server=nowhere", headers={"HX-Request": "true"})
    assert (unknown.status_code, 'role="alert"' in unknown.text) == (200, True)


def test_long_lists_of_failures_and_approvals_lead_on(log_in, world, api, monkeypatch) -> None:
    """No row is left out in silence, and each is on one of the parts."""
    monkeypatch.setattr("services.pages.views.failures._EVENTS_MAX", 1)
    monkeypatch.setattr("services.pages.views.approvals._WAITING_MAX", 1)
    browser = log_in(world.viewer)

    def follow(page: str, words: str, name: str) -> int:
        """Return how many rows or cards the parts have together. `name` is the parameter with the cursor."""
        url, cursor, found = page, "", 0
        while True:
            html = browser.get(url).text
            found += len(re.findall(words, html))
            urls = [unescape(one) for one in re.findall(r'href="([^"]+)">(?:Next rows|Earlier ones)</a>', html)]
            others = {parse_qs(urlsplit(one).query).get(name, [cursor])[0]: one for one in urls}
            others.pop(cursor, None)
            if not others:
                return found
            [(cursor, url)] = others.items()

    events = api.get("/v1/unavailability-events", params={"region": "west", "open": "true"}).json()["items"]
    down = [one for one in events if one["kind"] == "unplanned"]
    only = api.get("/v1/unavailability-events", params={"region": "west", "open": "true", "kind": "unplanned"})
    assert [one["scope_name"] for one in only.json()["items"]] == [one["scope_name"] for one in down]
    assert len(down) > 1
    names = "|".join(
        rf"<th [^>]+><a [^>]+>{re.escape(one['scope_name'])}</a></th>\s*<td>{one['scope']}</td>" for one in down
    )
    assert follow("/regions/west/failures", names, "failures.after") == len(down)
    pending = api.get("/v1/approvals", params={"region": "west", "status": "pending"}).json()["items"]
    assert len(pending) > 1
    assert follow("/regions/west/approvals", "waits for a decision</span>", "waiting.after") == len(pending)
    decided = api.get("/v1/approvals", params={"region": "west", "decided": "true"}).json()["items"]
    assert all(one["decided_at"] for one in decided)


def test_a_missing_reservation_is_a_404_that_says_so(log_in, world) -> None:
    browser = log_in(world.viewer)
    missing = browser.get("/regions/west/reservations/none")
    assert (missing.status_code, "There is no reservation none in west" in missing.text) == (404, True)
    assert browser.get("/regions/none").status_code == 404


def test_a_table_filters_by_url_and_comes_as_csv(log_in, world) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/reservations?owner=ads&sort=-promised").text
    names = re.findall(r'<th scope="row"[^>]*><a [^>]+>([^<]+)<', page)
    assert names == ["batch", "ads/serving"]
    assert '<option value="ads" selected>' in page
    found = browser.get("/regions/west/reservations?owner=ads&q=serving&format=csv")
    assert found.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert [(row["Reservation"], row["Promised RRU"]) for row in rows] == [("ads/serving", "18.0")]
    nothing = browser.get("/regions/west/reservations?q=nothing").text
    assert "No row passes these filters." in nothing


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
        ({"capacity_rru": "-1"}, "greater than 0"),
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
    assert f"And memory_gb 150; holds {memory['held']:g}, {memory['held_after_loss']:g} after the worst loss" in said
    assert 'value="150"' in browser.get("/regions/east/ask?resize=rich").text
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
    [row] = api.get("/v1/reservations", params={"region": "east", "name": "ahead"}).json()["items"]
    assert row["status"]["booked_servers"] > 0


def test_only_those_who_may_decide_can_and_the_others_read_why(log_in, world, api) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/approvals").text
    assert "crawl" in page
    assert "Operators decide on this." in page
    assert re.search(r'value="approve"[^>]+disabled', page)
    found = api.get("/v1/approvals", params={"region": "west", "status": "pending"}).json()["items"]
    waiting = next(one for one in found if one["reservation"] == "crawl")
    form = {
        "approval": waiting["approval_id"],
        "generation": waiting["generation"],
        "decision": "approve",
        "reason": "x",
    }
    refused = browser.post("/regions/west/approvals", data=form)
    assert refused.status_code == 409
    assert 'role="alert"' in refused.text


def test_others_that_wait_are_compared_before_and_after(log_in, world, api) -> None:
    found = api.get("/v1/approvals", params={"region": "west", "kind": "capacity_request", "status": "pending"}).json()
    waiting = next(one for one in found["items"] if one["reservation"] == "crawl")
    address = f"/regions/west/approvals?effects={waiting['approval_id']}"
    browser = log_in(world.operator)
    effects = api.get(f"/v1/approvals/{waiting['approval_id']}/effects").json()
    for page in (browser.get(address), browser.get(address, headers={"HX-Request": "true"})):
        assert page.status_code == 200
        for one in effects["items"]:
            assert f'<th scope="row">{one["reservation"]}</th>' in page.text
        assert effects["items"] or "No other request waits here" in page.text
        assert "none would lack more than now" in page.text
        assert page.text.count("Free servers of the types that it may use") == 1
    present = effects["present"]
    assert (present["from_others"], present["shorter"]) == (0, [])
    assert sum(one["before"] - one["after"] for one in present["free"]) == present["from_free"]
    missing = browser.get("/regions/west/approvals?effects=999999", headers={"HX-Request": "true"})
    assert (missing.status_code, 'role="alert"' in missing.text) == (200, True)
    assert "effects=" not in log_in(world.viewer).get("/regions/west/approvals").text


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


def test_the_past_of_a_region_is_fetched_and_comes_as_csv(log_in, world, api) -> None:
    browser = log_in(world.viewer)
    first = browser.get("/regions/west?days=7").text
    assert 'hx-get="/regions/west?days=7&amp;past=1"' in first
    assert "Moves and preemptions a day</h3>" not in first
    part = browser.get("/regions/west?days=7&past=1", headers={"HX-Request": "true"}).text
    assert "Moves and preemptions a day</h3>" in part
    assert "<h1" not in part, "only the past"
    days = api.get("/v1/regions/west/history", params={"days": 7}).json()["days"]
    found = browser.get("/regions/west?days=7&past=1&format=csv&table=days").text
    rows = list(csv.DictReader(io.StringIO(found)))
    assert {row["Day (UTC)"]: int(row["Moves"]) for row in rows} == {one["day"]: one["moves"] for one in days}
    assert sum(one["moves"] for one in days) > 100
    assert "plimsoll history --region west --days 7" in part


def test_a_decision_belongs_to_the_version_that_was_read(log_in, world, api) -> None:
    asked = {"region": "west", "name": "later", "owner": "search", "spec": {"capacity_rru": 55, "rru": RRU}}
    with world.client(world.owner) as owner:
        assert owner.post("/v1/reservations", json=asked).status_code == 202
    world.live(1)
    found = api.get("/v1/approvals", params={"region": "west", "status": "pending"}).json()["items"]
    waiting = next(one for one in found if one["reservation"] == "later")
    browser = log_in(world.operator)
    page = browser.get("/regions/west/approvals").text
    assert f'name="approval" value="{waiting["approval_id"]}"' in page
    form = {"approval": waiting["approval_id"], "decision": "reject", "reason": "not this month"}
    stale = browser.post("/regions/west/approvals", data=form | {"generation": waiting["generation"] + 1})
    assert (stale.status_code, "Somebody changed it after you read it" in stale.text) == (409, True)
    assert 'value="not this month"' in stale.text
    done = browser.post("/regions/west/approvals", data=form | {"generation": waiting["generation"]})
    assert (done.status_code, done.headers["location"]) == (303, "/regions/west/approvals")
    assert "not this month" in browser.get("/regions/west/approvals").text


def test_json_is_for_reads_with_the_persons_rights(log_in, world, api) -> None:
    browser = log_in(world.viewer)
    answer = browser.get("/json/v1/reservations?region=west&owner=ads")
    assert {row["name"] for row in answer.json()["items"]} == {"batch", "ads/serving"}
    assert browser.get("/json/v1/tokens").status_code == 403
    for path in ("/json/metrics", "/json/v1/../metrics", "/json/v1/%2e%2e/metrics", "/json/http://evil.example/"):
        assert browser.get(path).status_code == 404, path
    assert browser.post("/json/v1/reservations").status_code == 405


def test_words_of_others_are_escaped(log_in, world) -> None:
    browser = log_in(world.viewer)
    for path in (
        "/regions/west/reservations?q=%3Cscript%3E",
        "/regions/west/reservations/%3Cscript%3E",
        "/style?q=%22%3E%3Cb%3Ezap",
    ):
        assert "<script>" not in browser.get(path).text
        assert "<b>zap" not in browser.get(path).text


HOSTILE = "a$(echo x); echo y|sh #'`"


@pytest.mark.parametrize(
    "address",
    [
        "/regions/west/ask?name={}&owner={}&capacity_rru={}&workload_class={}",
        "/regions/west/ask?name=a&rru:{}={}",
        "/regions/west/what-if?lose:msb:{}=on&withdraw_racks={}",
        "/regions/west/servers?rack={}",
        "/executions/{execution}?region={}",
        "/flux/ledger?service={}",
        "/flux/cycles?service={}",
        "/audit?actor={}",
    ],
)
def test_a_shell_runs_no_word_of_a_link(log_in, world, api, address) -> None:
    page = log_in(world.operator).get(address.format(*[quote(HOSTILE)] * 4, execution=world.executions["moving"])).text
    line = unescape(re.search(r'data-copy="([^"]*)"', page)[1])
    heard = subprocess.run(
        f'plimsoll() {{ printf "%s\\n" "$@"; }}; {line}', shell=True, capture_output=True, text=True, check=True
    ).stdout
    assert HOSTILE in heard
    assert all(HOSTILE in word or "echo" not in word for word in heard.splitlines())


def test_a_command_has_no_control_characters(log_in, world) -> None:
    page = log_in(world.operator).get("/regions/west/ask?name=a%1b[201~%15reboot%0ab").text
    assert unescape(re.search(r'data-copy="([^"]*)"', page)[1]).startswith("plimsoll create 'a[201~rebootb' ")
