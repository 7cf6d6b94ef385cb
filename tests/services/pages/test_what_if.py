"""The pages of what-ifs ask what their form says, name who gains and who loses, and apply decisions."""

import csv
import io
import re
from html import unescape

import pytest

from libs.web.solving_slots import solving_slot
from services.pages.views import what_if_form as asking
from services.pages.views.simulation import EFFECTS, effect_of
from tests.services.pages.test_pages import text_of

PATH = "/regions/west/what-if"
FORM = {
    "lose:msb:msb-01": "on",
    "lose:datacenter:dc-02": "on",
    "lose:power_row:row:7": "on",
    "lose_racks": "rack-1, rack-2",
    "lose:network_block": "block-1, block-2",
    "demand:1:of": "reservation",
    "demand:1:name": "web",
    "demand:1:capacity_rru": "30",
    "demand:4:of": "owner",
    "demand:4:name": "ads",
    "demand:4:scale": "1.5",
    "demand:5:of": "all",
    "demand:5:scale": "2",
    "racks:2:msb": "msb-02",
    "racks:2:hardware_type": "c5.metal",
    "racks:2:servers_per_rack": "20",
    "racks:2:racks": "3",
    "without:i3.metal": "on",
    "withdraw_racks": "rack-3",
    "power:1:kind": "power_row",
    "power:1:domain": "row-7",
    "power:1:limit_w": "180000",
    "power:3:domain": "msb-02",
    "power:3:limit_w": "900000",
    "power:3:headroom": "0.1",
    "uplinks:1:limit_gbit": "100",
    "uplinks:2:rack": "rack-4",
    "uplinks:2:limit_gbit": "40",
    "traffic:2:reservation": "web",
    "traffic:2:gbit_per_rru": "2.5",
    "policy:buffer_cost": "8",
    "policy:fix_first": "false",
}
BODY = {
    "region": "west",
    "policy": {"buffer_cost": 8.0, "fix_first": False},
    "demand": [{"reservation": "web", "capacity_rru": 30.0}, {"owner": "ads", "scale": 1.5}, {"scale": 2.0}],
    "lose": [
        {"scope": "msb", "name": "msb-01"},
        {"scope": "datacenter", "name": "dc-02"},
        {"scope": "power_row", "name": "row:7"},
        {"scope": "rack", "name": "rack-1"},
        {"scope": "rack", "name": "rack-2"},
        {"scope": "network_block", "name": "block-1"},
        {"scope": "network_block", "name": "block-2"},
    ],
    "add_racks": [{"msb": "msb-02", "hardware_type": "c5.metal", "servers_per_rack": 20, "racks": 3}],
    "remove_hardware_types": ["i3.metal"],
    "withdraw_racks": ["rack-3"],
    "power_limits": [
        {"domain": "row-7", "kind": "power_row", "limit_w": 180000.0},
        {"domain": "msb-02", "limit_w": 900000.0, "headroom": 0.1},
    ],
    "uplink_limits": [{"limit_gbit": 100.0}, {"rack": "rack-4", "limit_gbit": 40.0}],
    "traffic": [{"reservation": "web", "gbit_per_rru": 2.5}],
}


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def ask(browser, world, form: dict[str, str]) -> str:
    """Send the form, let the worker answer, and return the address of the answer."""
    asked = browser.post(PATH, data={"action": "run", **form})
    assert asked.status_code == 303, text_of(asked.text)
    world.platform.tick()
    return asked.headers["location"]


def test_a_form_is_read_as_the_api_takes_it() -> None:
    assert asking.read_question("west", FORM).body == BODY


def test_a_name_with_a_comma_stays_one_name() -> None:
    lose = [{"scope": "rack", "name": "rack 1, east"}, {"scope": "power_row", "name": "row 2, east"}]
    what_if = {"policy": {}, "demand": [], "lose": lose, "remove_hardware_types": [], "withdraw_racks": ["a,b", "c"]}
    form = asking.form_of(what_if)
    asked = asking.read_question("west", form).body
    assert sorted(asked["lose"], key=lambda one: one["scope"], reverse=True) == lose
    assert asked["withdraw_racks"] == ["a,b", "c"]


def test_a_lost_domain_with_a_comma_fills_its_field_in_one_piece(log_in, world) -> None:
    page = log_in(world.viewer).get(f"{PATH}?lose:power_row:row+2,+east=on&lose:power_row:row-3=on").text
    field = re.search(r'name="lose:power_row" value="([^"]*)"', page)[1]
    asked = asking.read_question("west", {"lose:power_row": unescape(field)}).body
    assert sorted(one["name"] for one in asked["lose"]) == ["row 2, east", "row-3"]


def test_every_error_of_the_api_finds_its_field() -> None:
    question = asking.read_question("west", FORM)
    found = {
        "demand[1].owner": "demand:4:name",
        "demand[2].scale": "demand:5:scale",
        "lose[0].name": "lose:msb:msb-01",
        "lose[2].name": "lose:power_row:row:7",
        "lose[3].name": "lose_racks",
        "lose[5].scope": "lose:network_block",
        "add_racks[0].msb": "racks:2:msb",
        "remove_hardware_types[0]": "without:i3.metal",
        "withdraw_racks[0]": "withdraw_racks",
        "power_limits[0].domain": "power:1:domain",
        "power_limits.1.limit_w": "power:3:limit_w",
        "uplink_limits[1].rack": "uplinks:2:rack",
        "traffic.0.gbit_per_rru": "traffic:2:gbit_per_rru",
        "policy.buffer_cost": "policy:buffer_cost",
    }
    assert {path: question.field_of(path) for path in found} == found


def test_an_answer_can_be_asked_again_as_it_was_or_without_events(log_in, world, api) -> None:
    limit = {"domain": "msb-02", "kind": "MSB", "limit_w": 900000.0, "headroom": 0.1}
    blocks = [{"scope": "network_block", "name": f"block-0{k}"} for k in range(2)]
    body = BODY | {"lose": [*BODY["lose"][:2], *blocks], "withdraw_racks": [], "power_limits": [limit]}
    body |= {"uplink_limits": BODY["uplink_limits"][:1]}
    made = api.post("/v1/simulations", json=body).json()
    again = asking.form_of(made["what_if"])
    assert asking.read_question("west", again).body == {name: value for name, value in body.items() if value}
    decisions = asking.read_question("west", asking.form_of(made["what_if"], decisions_only=True)).body
    assert decisions == {"region": "west", "policy": BODY["policy"], "demand": BODY["demand"]}
    api.post(f"/v1/simulations/{made['simulation_id']}/cancel")
    page = log_in(world.viewer).get(f"{PATH}/{made['simulation_id']}").text
    assert "Cancelled" in text_of(page)
    assert re.search(r'href="([^"]+)">Ask for the decisions alone', page)[1].count("lose") == 0


def test_the_command_line_asks_the_same() -> None:
    assert " ".join(asking.command_of("west", BODY)) == (
        "simulate west --lose-msb msb-01 --lose-datacenter dc-02 --lose power_row:row:7 --lose-rack rack-1 "
        "--lose-rack rack-2 --lose network_block:block-1 --lose network_block:block-2 "
        "--demand web=30 --scale-owner ads=1.5 --scale 2 --add-rack msb-02:c5.metal:20:3 --remove-type i3.metal "
        "--withdraw-rack rack-3 --power-limit power_row:row-7=180000 --power-limit msb-02=900000:0.1 "
        "--uplink-limit 100 --uplink-limit rack-4=40 --traffic web=2.5 --policy buffer_cost=8 --policy fix_first=false"
    )


def test_the_loss_of_an_msb_names_who_loses(log_in, world, api) -> None:
    browser = log_in(world.operator)
    address = ask(browser, world, {"lose:msb:msb-02": "on"})
    report = api.get(f"/v1/simulations/{address.rpartition('/')[2]}").json()["report"]
    page = browser.get(address)
    said = text_of(page.text)
    assert "What if msb-02 is lost?" in page.text
    losers = {row["reservation"] for row in report["reservations"] if row["short_rru_after"] > row["short_rru_now"]}
    assert losers, "a region without free servers loses by it"
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}?format=csv").text)))
    assert {row["Reservation"] for row in rows if row["Effect"] == "Loses"} == losers
    asked = {row["reservation"]: row["capacity_rru_now"] for row in report["reservations"]}
    assert {row["Reservation"]: float(row["RRU asked for"]) for row in rows} == asked
    assert asked["batch"] == 240, "it waits"
    assert f"{len(losers)} reservation" in said
    only = csv.DictReader(io.StringIO(browser.get(f"{address}?effect=loses&format=csv").text))
    assert {row["Reservation"] for row in only} == losers
    assert "They can be imagined, and not applied." in said
    assert browser.post(address, data={"action": "apply", "reason": "x"}).status_code == 409
    terms = {
        row["Term"]: row for row in csv.DictReader(io.StringIO(browser.get(f"{address}?format=csv&table=terms").text))
    }
    assert float(terms["All terms"]["After"]) == report["cost"]["after"]["total"]
    moves = browser.get(f"{address}?format=csv&table=moves").text
    assert len(moves.splitlines()) == 1 + min(report["moves"], 200)


def test_other_uplinks_and_traffic_tell_which_racks_are_above(log_in, world, api) -> None:
    browser = log_in(world.operator)
    form = {"uplinks:1:limit_gbit": "9", "traffic:1:reservation": "web", "traffic:1:gbit_per_rru": "5"}
    estimate = text_of(browser.post(PATH, data={"action": "estimate", **form}).text)
    address = ask(browser, world, form)
    report = api.get(f"/v1/simulations/{address.rpartition('/')[2]}").json()["report"]["uplinks"]
    assert report["at_once"]["racks"] > report["now"]["racks"]
    once = f"{report['at_once']['racks']} racks above their uplinks by {report['at_once']['gbit']:g} Gbit/s at once"
    assert once in estimate
    assert "every rack may send 9 Gbit/s; web sends 5 Gbit/s per RRU" in estimate
    page = browser.get(address)
    said = text_of(page.text)
    assert f"{report['after']['racks']} by {report['after']['gbit']:g} after" in said
    rows = list(csv.DictReader(io.StringIO(browser.get(f"{address}?format=csv&table=uplinks").text)))
    assert {row["Rack"]: float(row["Sent after"]) for row in rows} == {
        one["rack"]: pytest.approx(one["sent_gbit_after"]) for one in report["racks"]
    }
    assert "limits, or other traffic" in said


def test_a_rack_with_a_higher_limit_is_not_called_the_fullest(log_in, world, api) -> None:
    path = "/v1/regions/west/uplinks"
    before = api.get(path)
    limited = api.put(path, json={"limits": {}, "others_gbit": 10}, headers={"If-Match": before.headers["etag"]})
    assert limited.status_code == 200, limited.text
    rack = limited.json()["fullest"][-1]["rack"]
    form = {"action": "estimate", "uplinks:1:rack": rack, "uplinks:1:limit_gbit": "1000"}
    said = text_of(log_in(world.operator).post(PATH, data=form).text)
    api.put(path, json={"limits": before.json()["limits"]}, headers={"If-Match": limited.headers["etag"]})
    assert f"Of {limited.json()['racks_limited']} racks with a limit, these change or are most above it." in said


def test_a_limit_of_uplinks_is_lifted_with_a_word(log_in, world, api) -> None:
    path = "/v1/regions/west/uplinks"
    before = api.get(path)
    limited = api.put(path, json={"limits": {}, "others_gbit": 10}, headers={"If-Match": before.headers["etag"]})
    rack = limited.json()["fullest"][0]["rack"]
    form = {"uplinks:1:rack": rack, "uplinks:1:limit_gbit": "None"}
    try:
        page = log_in(world.operator).post(PATH, data={"action": "estimate", **form})
        assert (page.status_code, f"rack {rack} may send any Gbit/s" in text_of(page.text)) == (200, True)
        assert f"--uplink-limit {rack}=none" in unescape(page.text)
        address = ask(log_in(world.operator), world, form)
        assert f"rack {rack} may send any Gbit/s" in text_of(log_in(world.operator).get(address).text)
    finally:
        api.put(path, json={"limits": before.json()["limits"]}, headers={"If-Match": limited.headers["etag"]})
    asked = {"policy": {}, "demand": [], "lose": [], "remove_hardware_types": [], "withdraw_racks": []}
    asked |= {"uplink_limits": [{"rack": rack, "limit_gbit": None}]}
    assert asking.form_of(asked)["uplinks:1:limit_gbit"] == "none"


@pytest.mark.parametrize("value", ["nan", "1e999"])
def test_what_is_no_finite_number_is_said_beside_its_field(log_in, world, value) -> None:
    said = log_in(world.operator).post(PATH, data={"action": "estimate", "uplinks:1:limit_gbit": value})
    assert said.status_code == 422
    assert f"must be a number, not {value}" in text_of(said.text)


def test_a_running_question_says_so_and_can_be_stopped(log_in, world) -> None:
    browser = log_in(world.operator)
    asked = browser.post(PATH, data={"action": "run", "demand:1:of": "all", "demand:1:scale": "1.01"})
    address = asked.headers["location"]
    page = browser.get(address).text
    assert "It waits for a worker." in text_of(page)
    assert "data-live" in page
    assert browser.post(address, data={"action": "stop"}).status_code == 303
    page = browser.get(address).text
    assert "Cancelled" in text_of(page)
    assert "hx-get" not in page
    again = browser.post(address, data={"action": "stop"})
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)


def test_a_decision_is_applied_once(log_in, world, api) -> None:
    browser = log_in(world.operator)
    address = ask(browser, world, {"demand:1:name": "index", "demand:1:capacity_rru": "28"})
    assert browser.post(address, data={"action": "apply", "reason": "less crawling"}).status_code == 303
    said = text_of(browser.get(address).text)
    assert "olga applied it" in said
    index = api.get("/v1/reservations", params={"region": "west", "name": "index"}).json()["items"][0]
    assert index["spec"]["capacity_rru"] == 28
    again = browser.post(address, data={"action": "apply"})
    assert (again.status_code, "applied by olga already" in again.text) == (409, True)
    assert "Applied" in text_of(browser.get(PATH).text)


def test_wrong_fields_say_what_is_wrong_beside_them(log_in, world) -> None:
    browser = log_in(world.operator)
    page = browser.post(PATH, data={"demand:2:name": "wbe", "demand:2:capacity_rru": "5", "policy:buffer_cost": "-1"})
    assert page.status_code == 422
    assert 'id="policy:buffer_cost-wrong"' in page.text
    said = text_of(browser.post(PATH, data={"demand:2:name": "wbe", "demand:2:capacity_rru": "5"}).text)
    assert "Demand, row 2, name" in said
    assert "web" in said, "the nearest name"
    for form, words in (
        ({"racks:1:msb": "msb-01"}, "New racks, row 1, hardware type is required"),
        ({"power:1:limit_w": "9000"}, "Power, row 1, domain is required"),
        ({"power:2:domain": "msb-01", "power:2:limit_w": "-1"}, "Power, row 2, limit w"),
        ({"power:1:domain": "msb-1", "power:1:limit_w": "5000"}, "no MSB is called msb-1"),
        ({"uplinks:1:rack": "rack-1"}, "Uplinks, row 1, limit gbit"),
        ({"uplinks:1:rack": "rack-x", "uplinks:1:limit_gbit": "5"}, "no rack is called rack-x"),
        ({"traffic:2:gbit_per_rru": "5"}, "Traffic, row 2, reservation is required"),
        ({"demand:1:name": "web", "demand:1:scale": "lots"}, "must be a number, not lots"),
        ({"demand:1:scale": "2"}, "name the reservation"),
        ({"policy:fix_first": "perhaps"}, "must be true or false"),
        ({"action": "run"}, "name at least one change"),
        ({"lose_racks": "nowhere"}, "Lose racks"),
        ({"lose:network_block": "block-00, block-99"}, "no network_block is called block-99"),
        ({"lose:power_row": "row-1"}, "no kind of domain is called power_row: known: datacenter, msb, network_block"),
    ):
        page = browser.post(PATH, data=form)
        assert (page.status_code, words in text_of(page.text)) == (422, True), form


def test_a_link_keeps_the_form_and_shows_more_rows(log_in, world) -> None:
    browser = log_in(world.viewer)
    asked = browser.get(PATH, params={"action": "link", "lose:msb:msb-01": "on", "demand:3:scale": "", "q": ""})
    assert (asked.status_code, asked.headers["location"]) == (303, f"{PATH}?lose%3Amsb%3Amsb-01=on")
    page = browser.get(asked.headers["location"]).text
    assert 'name="lose:msb:msb-01" value="on" checked' in page
    assert "msb-01 is lost" in text_of(page)
    page = browser.get(PATH, params={"demand:7:of": "all", "demand:7:scale": "2"}).text
    assert 'name="demand:9:scale"' in page
    page = browser.get(PATH, params={"racks:1:msb": "m"})
    assert (page.status_code, "hardware type is required" in text_of(page.text)) == (200, True)


def test_a_viewer_looks_and_may_not_run_it(log_in, world) -> None:
    browser = log_in(world.viewer)
    page = browser.get(PATH).text
    assert "Operators run it." in text_of(page)
    assert "hx-trigger" not in page, "it would ask for estimates that are refused"
    refused = browser.post(PATH, data={"lose:msb:msb-01": "on"})
    assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
    assert "Operators apply it." in text_of(browser.get(f"{PATH}/2").text)


def test_a_question_of_another_region_or_of_none_is_missing(log_in, world) -> None:
    browser = log_in(world.viewer)
    for path in ("/regions/east/what-if/1", f"{PATH}/99999", f"{PATH}/x", f"{PATH}/99999999999999999999"):
        assert browser.get(path).status_code == 404, path
    assert browser.get("/regions/none/what-if").status_code == 404


def test_the_loss_of_a_network_block_is_estimated_and_simulated(log_in, world, api) -> None:
    browser = log_in(world.operator)
    question = {"region": "west", "lose": [{"scope": "network_block", "name": "block-02"}]}
    found = api.post("/v1/simulations", params={"dry_run": "true"}, json=question).json()
    page = browser.post(PATH, data={"action": "estimate", "lose:network_block": "block-02"}).text
    once = found["at_once"]
    assert once["shortfall_rru"] > found["now"]["shortfall_rru"]
    assert f"At once {once['reservations_short']} {once['shortfall_rru']:g}" in text_of(page)
    assert 'name="lose:network_block" value="block-02"' in page
    address = ask(browser, world, {"lose:network_block": "block-02"})
    assert "What if network block block-02 is lost?" in browser.get(address).text
    cost = api.get(f"/v1/simulations/{address.rpartition('/')[2]}").json()["report"]["cost"]
    assert cost["at_once"]["shortfall_rru"] == pytest.approx(once["shortfall_rru"])


HTMX = {"HX-Request": "true"}


def test_an_estimate_answers_without_scripts_and_asks_nothing(log_in, world, api) -> None:
    browser = log_in(world.operator)
    asked = len(api.get("/v1/simulations").json()["items"])
    question = {"region": "west", "lose": [{"scope": "msb", "name": "msb-02"}]}
    found = api.post("/v1/simulations", params={"dry_run": "true"}, json=question).json()
    page = browser.post(PATH, data={"action": "estimate", "lose:msb:msb-02": "on"})
    assert page.status_code == 200
    assert 'name="lose:msb:msb-02" value="on" checked' in page.text
    said = text_of(page.text)
    for words, moment in (("Now", "now"), ("At once", "at_once"), ("With free servers", "with_free")):
        one = found[moment]
        assert f"{words} {one['reservations_short']} {one['shortfall_rru']:g}" in said
    assert found["missing_servers"] > 0, "no server of this region is free"
    assert f"At least {found['missing_servers']} more servers" in said
    worst = found["reservations"][0]
    assert worst["reservation"] in said
    assert found["covers"] in said
    assert len(api.get("/v1/simulations").json()["items"]) == asked


def test_the_answer_alone_follows_what_is_typed(log_in, world) -> None:
    browser = log_in(world.operator)
    for form, words in (
        ({"demand:1:name": "web", "demand:1:capacity_rru": "9000"}, "Not possible at most"),
        ({"demand:1:name": "index", "demand:1:capacity_rru": "3"}, "To spare At least"),
        ({"demand:1:name": "web", "demand:1:capacity_rru": "lots"}, "Demand, row 1, capacity rru must be a number"),
        ({"lose_racks": "nowhere"}, "Lose racks"),
        ({"policy:buffer_cost": "8"}, "Weights change nothing before a solve"),
        ({"action": "run"}, "Fill in the form"),
    ):
        part = browser.post(PATH, data=form, headers=HTMX)
        said = text_of(f"<main>{part.text}</main>")
        assert (part.status_code, words in said) == (200, True), (form, said)
        assert "<html" not in part.text


def test_a_busy_api_is_asked_again_by_the_browser_and_by_the_person_without_scripts(log_in, world) -> None:
    browser = log_in(world.operator)
    ask = {"capacity_rru": "20", "rru:c5.metal": "1", "generation": "1"}
    for path, form in ((PATH, {"lose:msb:msb-01": "on"}), ("/regions/west/ask?resize=web", ask)):
        with solving_slot(-1), solving_slot(-2):
            part = browser.post(path, data=form, headers=HTMX)
            page = browser.post(path, data=form | {"action": "estimate"})
        assert (part.status_code, f'hx-post="{path}"' in part.text, "load delay" in part.text) == (200, True, True)
        assert (page.status_code, "Try again in a few seconds" in text_of(page.text)) == (422, True)
        assert "load delay" not in page.text


def row(now: float, once: float, after: float, capacity: float = 10.0) -> dict:
    return {
        "short_rru_now": now,
        "short_rru_at_once": once,
        "short_rru_after": after,
        "capacity_rru_now": 10.0,
        "capacity_rru": capacity,
    }


@pytest.mark.parametrize(
    ("figures", "effect"),
    [
        (row(0, 5, 5), "loses"),
        (row(0, 5, 0), "recovers"),
        (row(5, 5, 1), "gains"),
        (row(0, 0, 0, 20), "resized"),
        (row(3, 3, 3), "same"),
    ],
)
def test_an_effect_compares_after_with_now(figures, effect) -> None:
    assert effect_of(figures) == effect
    assert set(EFFECTS) >= {effect}
