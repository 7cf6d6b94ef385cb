"""Plans in motion: executions with their commands, and the moves of a region as waves."""

import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.testclient import TestClient

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.execution_plan import Action, Phase
from libs.domain.plan_execution import Verb
from libs.store.executions.commands import append_readings, list_readings
from services.pages.app import create_pages
from services.pages.parts.dag import Box, dag_svg
from services.pages.parts.lanes import Bar, Lane, lanes_svg
from services.pages.parts.time_axis import compressed
from tests.builders.executed_plan import Orchestrator
from tests.builders.one_process import SteppedClock, one_process
from tests.services.pages.test_pages import text_of

SHIFT = "shift/feed/north/east"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


@pytest.fixture
def moving(world) -> str:
    return f"/executions/{world.executions['moving']}"


def rows_of(browser, path: str, table: str = "") -> list[dict]:
    sign = "&" if "?" in path else "?"
    return list(csv.DictReader(io.StringIO(browser.get(f"{path}{sign}format=csv&table={table}").text)))


def buttons_of(html: str, label: str) -> dict[str, bool]:
    """Return verb -> whether its button works, in the form with this label."""
    form = re.search(rf'<form[^>]*aria-label="Commands: {re.escape(label)}">.*?</form>', html, re.S)[0]
    return {verb: "disabled" not in rest for verb, rest in re.findall(r'name="verb" value="(\w+)"([^>]*)>', form)}


def test_the_list_of_executions_leads_to_each(log_in, world) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/executions").text
    for execution_id in world.executions.values():
        assert f'href="/executions/{execution_id}"' in page
    assert "plimsoll execution list" in page
    assert 'href="/executions/1"' not in browser.get("/executions?state=running").text
    assert "No row passes these filters." in browser.get("/executions?state=aborted").text
    assert browser.get("/executions?state=odd").status_code == 200


def test_an_execution_shows_every_action_with_its_state(log_in, world, api, moving) -> None:
    browser = log_in(world.viewer)
    page = browser.get(moving)
    assert page.status_code == 200
    path = f"/v1/plan-executions/{world.executions['moving']}"
    actions = api.get(f"{path}/actions", params={"limit": 1000}).json()["items"]
    rows = rows_of(browser, moving)
    assert [(row["Action"], row["State"]) for row in rows] == [(one["action"], one["state"]) for one in actions]
    assert page.text.count('<rect class="box') == len(actions)
    assert page.text.count('class="edge') == sum(len(one["waits_for"]) for one in actions)
    held = next(one for one in actions if one["action"] == SHIFT)
    assert (held["state"], "held, 10 %" in page.text) == ("held", True)
    timeline = api.get(f"{path}/timeline").json()
    assert page.text.count("◆ ") - 1 == sum(lane["critical"] for lane in timeline["lanes"])
    filtered = rows_of(browser, f"{moving}?phase=shift&region=east")
    assert {row["Action"] for row in filtered} == {one["action"] for one in actions if one["phase"] == "shift"}
    assert "expected" in text_of(page.text)


def read_gates_again(world, api) -> None:
    """Repeat the latest readings of the held shift. They count for 300 s, and other tests let minutes pass."""
    execution_id, now = world.executions["moving"], world.platform.clock.now()
    (held,) = api.get(f"/v1/plan-executions/{execution_id}/actions", params={"action": SHIFT}).json()["items"]
    with world.platform.database.write() as tx:
        latest = {one.gate: one for one in reversed(list_readings(tx, execution_id, held["position"], limit=100))}
        append_readings(tx, execution_id, [replace(one, at=now) for one in latest.values()])


@pytest.mark.parametrize("minutes_before", [0, 6])
def test_gates_tell_their_reading_and_verdict(log_in, world, api, moving, minutes_before: int) -> None:
    world.live(minutes_before)
    read_gates_again(world, api)
    browser = log_in(world.viewer)
    first = rows_of(browser, moving, "gates")[0]
    assert (first["Gate"], first["Action"], first["Verdict"], first["Reading"]) == ("errors", SHIFT, "bad", "0.04")
    said = text_of(browser.get(f"{moving}?action={SHIFT}").text)
    assert "Gate bad: errors" in said
    assert 'rate(errors{product="feed"}[5m])' in said.replace("&#34;", '"')
    assert "This execution has no gates" in text_of(browser.get(f"/executions/{world.executions['done']}").text)


@pytest.mark.parametrize(("level", "subject"), [("plan", ""), ("phase", "shift"), ("action", SHIFT)])
def test_the_api_alone_says_which_commands_are_possible(log_in, world, api, moving, level, subject) -> None:
    path = f"/v1/plan-executions/{world.executions['moving']}/command-answers"
    answers = api.get(path, params={"level": level} | ({"subject": subject} if subject else {})).json()["items"]
    page = log_in(world.operator).get(f"{moving}?phase=shift&action={SHIFT}" if subject else moving).text
    buttons = buttons_of(page, subject or "The whole execution")
    by_verb = {one["verb"]: one for one in answers}
    assert buttons, "there are commands"
    assert buttons == {verb: by_verb[verb]["possible"] for verb in buttons}
    assert all(by_verb[verb]["possible"] is False for verb in {*Verb} - {*buttons})
    for verb, works in buttons.items():
        if not works:
            assert by_verb[verb]["message"] in text_of(page).replace("&#39;", "'")


def test_a_viewer_gives_no_command_and_reads_why(log_in, world, moving) -> None:
    browser = log_in(world.viewer)
    page = browser.get(f"{moving}?action={SHIFT}").text
    for label in (SHIFT, "The whole execution"):
        assert not any(buttons_of(page, label).values())
    assert "Operators give commands." in page
    form = {"level": "plan", "verb": "pause", "reason": "because"}
    refused = browser.post(moving, data=form)
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)


def test_a_command_takes_effect_and_is_recorded_and_a_refused_one_says_why(log_in, world, api, moving) -> None:
    browser = log_in(world.operator)
    given = browser.post(f"{moving}?phase=shift", data={"level": "plan", "verb": "pause", "reason": "a launch"})
    assert (given.status_code, given.headers["location"]) == (303, f"{moving}?phase=shift")
    path = f"/v1/plan-executions/{world.executions['moving']}"
    assert api.get(path).json()["state"] == "pausing"
    again = browser.post(moving, data={"level": "plan", "verb": "pause", "reason": "a second launch"})
    said = text_of(again.text)
    assert (again.status_code, "Pause was refused." in said, "it is paused already" in said) == (409, True, True)
    assert 'value="a second launch"' in again.text, "the reason is kept"
    assert browser.post(moving, data={"level": "plan", "verb": "resume", "reason": "over"}).status_code == 303
    log = rows_of(browser, moving, "log")
    assert [(row["Command"], row["Outcome"] == "accepted") for row in log[:3]] == [
        ("Resume", True),
        ("Pause", False),
        ("Pause", True),
    ]


@pytest.mark.parametrize(
    "form",
    [
        {"level": "action", "subject": "upsize/none", "verb": "pause", "reason": "x"},
        {"level": "action", "subject": SHIFT, "verb": "edit", "size": "much", "reason": "x"},
        {"level": "action", "subject": SHIFT, "verb": "fly", "reason": "x"},
        {"level": "plan", "verb": "pause", "reason": " "},
        {"verb": ""},
    ],
)
def test_a_form_that_makes_no_sense_changes_nothing(log_in, world, api, moving, form) -> None:
    path = f"/v1/plan-executions/{world.executions['moving']}"
    before = api.get(path).json()
    refused = log_in(world.operator).post(moving, data=form)
    assert (refused.status_code, 'role="alert"' in refused.text) == (409, True)
    assert api.get(path).json() == before


def test_an_edit_sends_the_size_and_the_kind_of_the_reason(log_in, world, api, moving) -> None:
    path = f"/v1/plan-executions/{world.executions['moving']}/actions"
    (one,) = api.get(path, params={"phase": "grow"}).json()["items"]
    form = {"level": "action", "subject": one["action"], "verb": "edit", "reason": "less is enough"}
    size = (one["before"] + one["after"]) / 2
    browser = log_in(world.operator)
    done = browser.post(moving, data=form | {"size": str(size), "kind": "bad_estimate"})
    assert done.status_code == 303, done.text
    assert api.get(path, params={"action": one["action"]}).json()["items"][0]["size"] == size
    assert "was planned" in browser.get(f"{moving}?action={one['action']}").text


def test_odd_addresses_are_missing_or_empty(log_in, world, moving) -> None:
    browser = log_in(world.viewer)
    for path in ("/executions/999999", "/executions/x", "/executions/99999999999999999999"):
        assert browser.get(path).status_code == 404, path
    for query in ("phase=none", "state=odd", "region=nowhere", "action=none", f"action={'x' * 3000}"):
        assert browser.get(f"{moving}?{query}").status_code == 200, query


def test_thousands_of_actions_collapse_and_say_so(database_url, tmp_path) -> None:
    many = tuple(
        Action(
            action=f"upsize/service-{number}/region-{number % 60}/compute",
            phase=Phase.UPSIZE,
            service=f"service-{number}",
            region=f"region-{number % 60}",
            hardware_type="compute",
            before=1.0,
            after=2.0,
            estimate_h=1.0,
        )
        for number in range(3000)
    )
    shrinking = [
        replace(one, action=f"down{one.action.removeprefix('up')}", phase=Phase.DOWNSIZE, before=2.0, after=1.0)
        for one in many
    ]
    clock = SteppedClock(NOON)
    with (
        one_process(database_url, tmp_path, clock, SimulatedActuator(clock, SimulatedSettings())) as (platform, admin),
        httpx.Client(base_url=platform.url, timeout=60) as http,
        TestClient(create_pages(http, clock), base_url="https://pages.example") as browser,
    ):
        made = Orchestrator(platform.database, clock, (*many, *shrinking)).create()
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        browser.post("/login", data={"token": admin, "next": "/regions"}, follow_redirects=False)
        page = browser.get(f"/executions/{made.plan_execution_id}")
    assert page.status_code == 200
    said = text_of(page.text)
    assert "6,000 actions are too many to draw: each box and each lane has the actions of a phase." in said
    assert "These are the first 100 actions in their order." in said
    assert page.text.count('<rect class="box') == 2
    assert len(page.content) < 300_000
    assert "0 of 3,000 done" in page.text


def test_moves_are_counted_as_the_api_counts_them(log_in, world, api) -> None:
    browser = log_in(world.viewer)
    page = browser.get("/regions/west/moves")
    assert page.status_code == 200
    counts = api.get("/v1/regions/west/move-counts").json()["items"]
    rows = rows_of(browser, "/regions/west/moves")
    assert [(row["From"], row["To"], float(row["Moves"])) for row in rows] == [
        (one["from_reservation"] or "free", one["to_reservation"] or "free", one["moves"]) for one in counts
    ]
    said = text_of(page.text)
    running = sum(one["moves"] for one in counts)
    assert f"{running} {'move runs' if running == 1 else 'moves run'}" in said
    waits = api.get("/v1/waits", params={"region": "west"}).json()["items"]
    assert waits
    for one in waits:
        assert one["message"].replace("`", "") in " ".join(said.split())
    told = {row["Reservation"]: row["Level"] for row in rows_of(browser, "/regions/west/moves", "waits")}
    assert told == {one["reservation"]: one["level"] for one in waits}


def test_waves_are_those_that_the_latest_solve_foretold(log_in, world, api) -> None:
    runs = api.get("/v1/solve-runs", params={"region": "west"}).json()["items"]
    run = next(one for one in runs if (one["report"] or {}).get("waves"))
    browser = log_in(world.viewer)
    waves = rows_of(browser, "/regions/west/moves", "waves")
    assert [float(row["Moves"]) for row in waves] == [one["moves"] for one in run["report"]["waves"]["each"]]
    assert f'href="/regions/west/solves/{run["solve_run_id"]}"' in browser.get("/regions/west/moves").text


def test_an_operator_pauses_and_resumes_the_mover(log_in, world, api) -> None:
    browser, path = log_in(world.operator), "/regions/west/moves"
    assert browser.post(path, data={"deed": "pause", "reason": "a new switch"}).status_code == 303
    assert api.get("/v1/movers/west").json()["paused_reason"] == "a new switch"
    said = text_of(browser.get(path).text)
    assert "a new switch" in said
    assert "Resume moves" in said
    assert browser.post(path, data={"deed": "resume", "reason": "it is in"}).status_code == 303
    assert api.get("/v1/movers/west").json()["paused_at"] is None
    for form in ({"deed": "retry", "move": "999", "reason": "x"}, {"deed": "fly"}, {"deed": "pause", "reason": ""}):
        refused = browser.post(path, data=form)
        assert (refused.status_code, 'role="alert"' in refused.text) == (409, True), form


def test_a_viewer_reads_why_they_cannot_pause(log_in, world) -> None:
    browser = log_in(world.viewer)
    said = text_of(browser.get("/regions/east/moves").text)
    assert "Operators do this." in said
    assert "No move runs" in said
    assert browser.post("/regions/east/moves", data={"deed": "pause", "reason": "x"}).status_code == 409
    assert browser.get("/regions/none/moves").status_code == 404


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def test_idle_time_is_compressed_and_order_is_kept() -> None:
    axis = compressed([(at(0), at(1)), (at(0.5), at(2)), (at(200), at(201))], 100.0, 1000.0)
    assert [piece.idle for piece in axis.pieces] == [False, True, False]
    work, idle, later = axis.pieces
    assert (work.left, later.right) == (100.0, pytest.approx(1000.0))
    assert (work.right, idle.right) == (idle.left, later.left)
    assert idle.right - idle.left < work.right - work.left
    assert (work.right - work.left) / 2 == pytest.approx(later.right - later.left), "one scale for all work"
    xs = [axis.x(at(hours)) for hours in (-5, 0, 0.7, 2, 100, 200, 200.5, 201, 900)]
    assert xs == sorted(xs)
    assert (xs[0], xs[-1]) == (100.0, pytest.approx(1000.0))
    assert compressed([], 0.0, 1.0) is None


def test_short_gaps_and_single_moments_draw() -> None:
    whole = compressed([(at(0), at(10)), (at(10.5), at(20))], 0.0, 100.0)
    assert [piece.idle for piece in whole.pieces] == [False]
    many = compressed([(at(100 * n), at(100 * n + 1)) for n in range(40)], 0.0, 1000.0)
    assert all(piece.right >= piece.left for piece in many.pieces)
    assert len(many.pieces) < 15
    moment = compressed([(at(1), at(1))], 0.0, 100.0)
    assert 0.0 <= moment.x(at(1)) <= 100.0


def test_names_in_pictures_are_escaped() -> None:
    lane = Lane("<a>&b", [Bar(at(0), at(1), "f3", "<tip>")], strong=True)
    picture = lanes_svg("<t>", [lane], at(0.5))
    box = Box(key="k", name="<b>&c" + "x" * 60, words="<w>", colour="f1", href='/?a="><x>')
    graph = dag_svg("<t>", {"<p>": [box]}, [("k", "none")])
    for drawn in (picture, graph):
        assert not re.search(r"<(t|a|b|p|w|x|tip)>", drawn)
    assert lanes_svg("t", [Lane("empty", [])], at(0)) is None
