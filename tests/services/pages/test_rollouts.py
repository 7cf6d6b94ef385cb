"""The pages of roll-outs of a policy: start one, read its comparisons, and give it commands. All of it is in `east`."""

import re
from collections.abc import Callable

import httpx
import pytest
from starlette.testclient import TestClient

from libs.domain.policy_rollout import Finding
from tests.builders.pages_world import QUIET, ROLLOUTS, PagesWorld
from tests.builders.rollout import compare

PATH = f"/regions/{QUIET}/rollouts"
LogIn = Callable[[str], TestClient]
SLOW = Finding(
    reason="OutsideHistory",
    message="the shadow solve has 90 seconds, and the last 4 solves at most 2",
    numbers={"solve_s": 90.0, "solve_s_highest": 2.0, "solve_s_most": 12.0},
)


@pytest.fixture
def runs(http: httpx.Client, world: PagesWorld) -> list[dict]:
    """Three solve runs with reports. Some are of another region, which a comparison does not mind."""
    http.headers["Authorization"] = f"Bearer {world.admin}"
    found = [http.get("/v1/solve-runs", params={"region": name}).json()["items"] for name in ("west", QUIET)]
    return [one for some in found for one in some[::-1] if one["report"]][:3]


@pytest.fixture
def rollout(http: httpx.Client, world: PagesWorld) -> dict:
    """A roll-out in shadow. An open one of another test is taken back before."""
    http.headers["Authorization"] = f"Bearer {world.operator}"
    for one in http.get(ROLLOUTS, params={"region": QUIET}).json()["items"]:
        if one["refusals"]["back"] is None:
            back = {"json": {"reason": "test"}, "headers": {"If-Match": f'"{one["generation"]}"'}}
            assert http.post(f"{ROLLOUTS}/{one['policy_rollout_id']}/back", **back).is_success
    generation = http.get(f"/v1/regions/{QUIET}").json()["generation"]
    body = {"region": QUIET, "policy": {"buffer_cost": 3}, "reason": "<b>buffers</b>"}
    made = http.post(ROLLOUTS, json=body, headers={"If-Match": f'"{generation}"'})
    assert made.is_success, made.text
    return made.json()


def command(browser: TestClient, rollout: dict, **form: object) -> httpx.Response:
    sent = {"generation": rollout["generation"], "reason": "test", **form}
    return browser.post(f"{PATH}/{rollout['policy_rollout_id']}", data=sent)


def button(page: str, name: str) -> str:
    found = re.search(rf'<button name="command" value="{name}"[^>]*>', page)
    assert found is not None
    return found[0]


def test_an_operator_starts_a_roll_out_and_takes_it_back(log_in: LogIn, world: PagesWorld, rollout: dict) -> None:
    browser = log_in(world.operator)
    page = browser.get(PATH).text
    assert "A region has one at a time." in page
    back = command(browser, rollout, command="back")
    assert (back.status_code, back.headers["location"]) == (303, f"{PATH}/{rollout['policy_rollout_id']}")
    assert "It was taken back" in browser.get(back.headers["location"]).text
    page = browser.get(PATH).text
    generation = re.search(r'name="generation" value="(\d+)"', page)
    assert generation is not None
    form = {"generation": generation[1], "reason": "spread more", "policy:spread_cost": "0.75"}
    started = browser.post(PATH, data=form)
    assert started.status_code == 303, started.text
    page = browser.get(started.headers["location"]).text
    assert "real solves have the old policy" in page
    assert re.search(r"Spread cost</th><td>0.5</td><td>0.75</td>", page)
    assert "No solve was compared yet." in page


def test_a_start_that_cannot_be_read_names_the_field_and_keeps_the_form(
    log_in: LogIn, world: PagesWorld, rollout: dict
) -> None:
    browser = log_in(world.operator)
    command(browser, rollout, command="back")
    form = {"generation": "1", "reason": "more", "policy:spread_cost": "much"}
    unread = browser.post(PATH, data=form)
    assert (unread.status_code, "must be a number, not much" in unread.text) == (422, True)
    assert 'name="policy:spread_cost" aria-label="Spread cost" size="7" maxlength="200" value="much"' in unread.text
    refused = browser.post(PATH, data=form | {"policy:spread_cost": "-1"})
    assert (refused.status_code, 'aria-describedby="policy:spread_cost-wrong"' in refused.text) == (422, True)
    assert browser.post(PATH, data={"generation": "1", "reason": "more"}).status_code == 409
    stale = browser.post(PATH, data=form | {"policy:spread_cost": "2", "generation": "99"})
    assert (stale.status_code, "Somebody changed the region" in stale.text) == (409, True)


def test_commands_that_cannot_work_are_disabled_and_say_why(log_in: LogIn, world: PagesWorld, rollout: dict) -> None:
    path = f"{PATH}/{rollout['policy_rollout_id']}"
    page = log_in(world.operator).get(path).text
    for name in ("canary", "all", "resume"):
        assert f'disabled aria-describedby="why-{name}"' in button(page, name)
        assert rollout["refusals"][name] in page
    assert "disabled" not in button(page, "back")
    assert "&lt;b&gt;buffers" in page
    assert "<b>buffers" not in page
    refused = command(log_in(world.operator), rollout, command="resume")
    assert (refused.status_code, rollout["refusals"]["resume"] in refused.text) == (409, True)
    page = log_in(world.viewer).get(path).text
    assert page.count("Operators roll policies out.") == 4
    assert all("disabled" in button(page, name) for name in ("canary", "all", "resume", "back"))


def test_a_stage_waits_for_an_approval_and_a_canary_has_a_share(
    log_in: LogIn, world: PagesWorld, rollout: dict, runs: list[dict]
) -> None:
    compare(world.platform.database, rollout["policy_rollout_id"], runs, now=world.platform.clock.now())
    browser = log_in(world.operator)
    for share in ("", "most", "0", "100"):
        assert command(browser, rollout, command="canary", share=share).status_code == 409, share
    stale = command(browser, rollout | {"generation": 99}, command="canary", share="10")
    assert (stale.status_code, "Somebody changed it" in stale.text) == (409, True)
    asked = command(browser, rollout, command="canary", share="10")
    assert asked.status_code == 303, asked.text
    page = browser.get(asked.headers["location"]).text
    assert "The next stage waits for an approval" in page
    approvals = browser.get(f"/regions/{QUIET}/approvals").text
    assert "would apply to a share of 0.1 of the reservations" in approvals


def test_a_figure_outside_the_history_holds_it_until_somebody_accepts_it(
    log_in: LogIn, world: PagesWorld, rollout: dict, runs: list[dict]
) -> None:
    now = world.platform.clock.now()
    compare(world.platform.database, rollout["policy_rollout_id"], runs[:2], now=now, findings=[SLOW])
    browser, path = log_in(world.operator), f"{PATH}/{rollout['policy_rollout_id']}"
    page = browser.get(path).text
    assert "It is held." in page
    assert "The shadow solve has 90 seconds, and the last 4 solves at most 2." in page
    assert "<title>the most that history allows, " in page
    assert page.count('title="Outside the history of the region"') == 1
    assert "Held</span>" in browser.get(PATH).text
    region = browser.get(f"/regions/{QUIET}").text
    assert f'href="{PATH}"' in region
    resumed = command(browser, rollout | {"generation": rollout["generation"] + 1}, command="resume")
    assert resumed.status_code == 303, resumed.text
    assert "It is held." not in browser.get(path).text
    rows = browser.get(f"{path}?format=csv").text.splitlines()
    assert len(rows) == 3
    assert rows[0].startswith("Solve,Stage,Status,Cost,Differ,Seconds,MiB,In use,Idle,Short RRU,Short,What held it")


def test_a_roll_out_of_another_region_or_of_none_is_missing(log_in: LogIn, world: PagesWorld, rollout: dict) -> None:
    browser = log_in(world.viewer)
    west = browser.get(f"/regions/west/rollouts/{rollout['policy_rollout_id']}")
    assert (west.status_code, "west has no roll-out of this address." in west.text) == (404, True)
    for path in (f"{PATH}/99999", f"{PATH}/x", "/regions/none/rollouts"):
        assert browser.get(path).status_code == 404, path
    assert f'href="{PATH}"' in browser.get(f"/regions/{QUIET}/solves").text


def test_applying_another_policy_names_the_roll_out_that_it_ends(
    log_in: LogIn, world: PagesWorld, rollout: dict
) -> None:
    browser, number = log_in(world.operator), rollout["policy_rollout_id"]
    asked = browser.post(f"/regions/{QUIET}/what-if", data={"action": "run", "policy:spread_cost": "0.6"})
    assert asked.status_code == 303, asked.text
    world.platform.tick()
    address = asked.headers["location"]
    link = f'<a href="{PATH}/{number}">roll-out {number}</a>'
    assert f"Its policy would end {link} of another one." in browser.get(address).text
    applied = browser.post(address, data={"action": "apply", "reason": "spread more"})
    assert applied.status_code == 303, applied.text
    assert f"It ended {link} of another policy." in browser.get(address).text
