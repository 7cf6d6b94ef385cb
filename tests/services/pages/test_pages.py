"""Pages say what the API says, take forms, and keep filters and orders in the URL."""

import csv
import io
import re
import subprocess
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.builders.pages_world import RRU


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("<footer")[0]).split())


def test_no_service_is_told_to_read_a_reason(log_in, world) -> None:
    world.ask_below_promise()
    page = text_of(log_in(world.admin).get("/regions/west/approvals").text)
    assert "Moves below a promise waits for a decision" in page
    assert "ann will read the reason. The audit trail keeps it." in page
    assert "solver.waves will read" not in page
    assert "The audit trail keeps the reason." in page


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
    assert "Asked for and held" in said
    assert "of 30 days whole" in said


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
    world.ask_below_promise()
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
    assert [(row["Reservation"], row["Capacity RRU"]) for row in rows] == [("ads/serving", "18.0")]
    nothing = browser.get("/regions/west/reservations?q=nothing").text
    assert "No row passes these filters." in nothing


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
