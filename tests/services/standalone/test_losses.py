"""One reservation survives the loss of any one MSB and of any one network block, from the request to the failure."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.policy import RegionPolicy
from libs.interchange.region.write import dump_region
from services.pages.app import create_pages
from tests.builders.one_process import Platform, SteppedClock, one_process
from tests.builders.region import region_image

KIND = "network_block"
SERVERS = [f"server-{i:02d}" for i in range(48)]
CAPACITY = 12.0
Json = dict[str, object]


@pytest.fixture
def world(empty_database_url: str, tmp_path: Path) -> Iterator[tuple[Platform, httpx.Client]]:
    """Four MSBs of 12 servers. Half of all servers are in block-0, which crosses all MSBs. Two have no place."""
    clock = SteppedClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    simulated = SimulatedActuator(clock, SimulatedSettings.model_validate({"PLIMSOLL_SIMULATED_FAILURE_RATE": 0}))
    blocks = {name: f"block-{(0, 1, 0, 2)[i % 4]}" for i, name in enumerate(SERVERS) if i not in (7, 20)}
    image = region_image(
        msbs=4,
        racks_per_msb=3,
        servers_per_rack=4,
        domains={KIND: blocks},
        policy=RegionPolicy(shared_buffer_share=0.0),
    )
    with one_process(empty_database_url, tmp_path, clock, simulated) as (platform, admin):
        headers = {"Authorization": f"Bearer {admin}"}
        with httpx.Client(base_url=platform.url, headers=headers, timeout=60) as http:
            files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
            answer = http.post("/v1/regions/west/import", files=files)
            assert answer.is_success, answer.text
            yield platform, http


def live(platform: Platform, minutes: int) -> None:
    for _ in range(minutes):
        platform.clock.skip(60)
        platform.tick()


def reservation(http: httpx.Client) -> Json:
    [found] = http.get("/v1/reservations", params={"region": "west", "name": "web"}).json()["items"]
    return found  # type: ignore[no-any-return]


def held_by_domain(http: httpx.Client, kind: str) -> dict[str, float]:
    """Return domain -> RRU of the servers that joined and are up, from the list of servers."""
    found: dict[str, float] = defaultdict(float)
    rows = http.get("/v1/servers", params={"region": "west", "current_reservation": "web", "limit": 100}).json()
    for one in rows["items"]:
        if one["unavailability"] == "none":
            found[one["msb"] if kind == "msb" else one["domains"].get(kind, "none")] += 1.0
    return dict(found)


def read_pages(platform: Platform, token: str) -> None:
    """Read the page of the reservation and the form that resizes it, and check the form with and without the kind."""
    with (
        httpx.Client(base_url=platform.url, timeout=60) as http,
        TestClient(create_pages(http, platform.clock), base_url="https://pages.example") as browser,
    ):
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        browser.post("/login", data={"token": token, "next": "/regions"}, follow_redirects=False)
        page = browser.get("/regions/west/reservations/web").text
        assert "after the loss of any one MSB or network block" in page
        assert "RRU held after network block loss" in page
        assert "held, whichever MSB or network block goes" in page
        form = browser.get("/regions/west/ask?resize=web").text
        assert f'name="survives:{KIND}" value="on" checked' in form
        hidden = {"name": "cache", "owner": "team", "key": "1", "capacity_rru": "26", "rru:hw-a": "1", "priority": "2"}
        for survives, phase in (({}, "Degraded"), ({f"survives:{KIND}": "on"}, "Rejected")):
            body = hidden | {"survives_msb_loss": "on", "action": "check"} | survives
            answer = browser.post("/regions/west/ask", data=body).text
            assert f">{phase}<" in answer, answer
            assert ("--survive-loss-of" in answer) == bool(survives)
        body = hidden | {"action": "check", f"within:{KIND}": "1", "within:datacenter": ""}
        answer = browser.post("/regions/west/ask", data=body).text
        assert ">Rejected<" in answer, answer
        assert f"raise domains_max of {KIND} to 2" in answer
        assert f"--within {KIND}=1" in answer
        wish = browser.post("/regions/west/ask", data=hidden | {"action": "check", f"prefer:{KIND}": "1"}).text
        assert (">Rejected<" in wish, f"--prefer-within {KIND}=1" in wish) == (False, True), "a wish refuses nothing"
        wrong = browser.post("/regions/west/ask", data=body | {f"within:{KIND}": "0.5"}).text
        assert f"the most domains of the kind {KIND} are a whole number from 1" in wrong
        assert f'name="within:{KIND}"' not in form, "a resize keeps its limits"


def test_any_one_msb_and_any_one_block_may_be_lost(world: tuple[Platform, httpx.Client]) -> None:
    platform, http = world
    spec = {"capacity_rru": CAPACITY, "rru": {"hw-a": 1}, "survives_loss_of": [KIND]}
    asked = http.post("/v1/reservations", json={"region": "west", "name": "web", "owner": "team", "spec": spec})
    assert asked.status_code == 202, asked.text
    live(platform, 20)
    assert http.post("/v1/solve-runs", json={"region": "west"}).is_success
    live(platform, 20)

    status = reservation(http)["status"]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert (status["phase"], ready["status"], ready["reason"]) == ("granted", "True", "Held"), status
    assert ready["message"].endswith(f"of 12 RRU after the loss of any one MSB or {KIND}.")
    for kind in ("msb", KIND):
        held = held_by_domain(http, kind)
        assert sum(held.values()) == status["held_rru"]
        assert status["held_rru"] - max(held.values()) >= CAPACITY, kind
        after = status["held_after_msb_loss_rru"]
        if kind == KIND:
            [worst] = status["held_after_further_losses"]
            assert held[worst["domain"]] == max(held.values())
            after = worst["held_after_rru"]
        assert after == status["held_rru"] - max(held.values())

    explained = http.get(f"/v1/reservations/{reservation(http)['reservation_id']}/explain").json()
    assert explained["summary"].startswith(f"web needs 12 RRU whichever MSB or {KIND} is lost, ")
    assert ("DomainLoss", KIND) in [(one["name"], one["subject"]) for one in explained["deciders"]]
    assert explained["held_after_further_losses"] == status["held_after_further_losses"]
    read_pages(platform, str(http.headers["Authorization"]).removeprefix("Bearer "))

    lost = status["held_after_further_losses"][0]["domain"]
    for one in http.get("/v1/servers", params={"region": "west", "limit": 100}).json()["items"]:
        if one["domains"].get(KIND) == lost:
            event = {"region": "west", "scope": "server", "scope_name": one["name"], "kind": "unplanned"}
            assert http.post("/v1/unavailability-events", json=event | {"reason": "switch"}).is_success
    status = reservation(http)["status"]
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert status["held_rru"] >= CAPACITY
    assert (ready["status"], ready["reason"]) == ("True", "SurvivesLoss"), ready
    assert f"while one {KIND} is down" in ready["message"]
    for _ in range(10):
        live(platform, 1)
        assert reservation(http)["status"]["held_rru"] >= CAPACITY
