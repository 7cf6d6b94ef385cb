"""A reservation gets what its domains can feed, from the request to a raised limit. No domain ever draws more."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.policy import RegionPolicy
from libs.domain.power import PowerLimit
from libs.interchange.region.write import dump_region
from services.pages.app import create_pages
from tests.builders.one_process import Platform, SteppedClock, one_process
from tests.builders.region import region_image

PATH = "/v1/regions/west/power"


@pytest.fixture
def world(empty_database_url: str, tmp_path: Path) -> Iterator[tuple[Platform, httpx.Client]]:
    """Two MSBs of 8 servers, of 100 W idle and 300 W in full. msb-00 can feed 2 in full, and a row over both MSBs 5."""
    clock = SteppedClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    simulated = SimulatedActuator(clock, SimulatedSettings.model_validate({"PLIMSOLL_SIMULATED_FAILURE_RATE": 0}))
    image = region_image(
        msbs=2,
        servers_per_rack=8,
        attributes={"hw-a": {"idle_w": 100.0, "full_w": 300.0}},
        domains={"power_row": {f"server-{n:02d}": "row-a" for n in range(16)}},
        power_limits=[
            PowerLimit(kind="MSB", domain="msb-00", limit_w=1500.0, headroom=0.2),
            PowerLimit(kind="power_row", domain="row-a", limit_w=16 * 100 + 5 * 200.0),
        ],
        policy=RegionPolicy(shared_buffer_share=0.0),
    )
    with one_process(empty_database_url, tmp_path, clock, simulated) as (platform, admin):
        headers = {"Authorization": f"Bearer {admin}"}
        with httpx.Client(base_url=platform.url, headers=headers, timeout=60) as http:
            files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
            answer = http.post("/v1/regions/west/import", files=files)
            assert answer.is_success, answer.text
            yield platform, http


def live(platform: Platform, http: httpx.Client, minutes: int) -> None:
    """Let minutes pass, and check each minute that no domain draws more than plans may use."""
    for _ in range(minutes):
        platform.clock.skip(60)
        platform.tick()
        for one in http.get(PATH).json()["domains"]:
            assert one["allowed_w"] is None or one["current_w"] <= one["allowed_w"], one


def web(http: httpx.Client) -> dict[str, object]:
    [found] = http.get("/v1/reservations", params={"region": "west", "name": "web"}).json()["items"]
    return found["status"]  # type: ignore[no-any-return]


def test_a_reservation_gets_what_its_domains_can_feed(world: tuple[Platform, httpx.Client]) -> None:
    platform, http = world
    spec = {"capacity_rru": 8, "rru": {"hw-a": 1}, "survives_msb_loss": False}
    asked = http.post("/v1/reservations", json={"region": "west", "name": "web", "owner": "team", "spec": spec})
    assert asked.status_code == 202, asked.text
    live(platform, http, 10)
    request = http.get(f"/v1/capacity-requests/{asked.json()['capacity_request_id']}").json()
    assert (request["status"]["phase"], request["status"]["reason"]) == ("degraded", "PowerLimits"), request
    assert "power_row row-a (2.6 kW)" in request["status"]["message"]
    assert http.post("/v1/solve-runs", json={"region": "west"}).is_success
    live(platform, http, 10)
    assert web(http)["held_rru"] == 5
    drawn = {one["domain"]: one["current_w"] for one in http.get(PATH).json()["domains"]}
    assert drawn["row-a"] == 16 * 100 + 5 * 200
    assert drawn["msb-00"] <= 1200

    found = http.get(PATH)
    limits = [one for one in found.json()["limits"] if one["kind"] == "MSB"]
    raised = http.put(PATH, json={"limits": limits}, headers={"If-Match": found.headers["ETag"]})
    assert raised.is_success, raised.text
    assert http.post("/v1/solve-runs", json={"region": "west"}).is_success
    live(platform, http, 10)
    assert (web(http)["phase"], web(http)["held_rru"]) == ("granted", 8)
    run = http.get("/v1/solve-runs", params={"region": "west"}).json()["items"][0]
    power = http.get(f"/v1/solve-runs/{run['solve_run_id']}").json()["report"]["power"]
    assert power["variance_before"] is not None
    assert {one["domain"] for one in power["domains"]} == {"msb-00", "msb-01"}
    read_page(platform, str(http.headers["Authorization"]).removeprefix("Bearer "))


def read_page(platform: Platform, token: str) -> None:
    """Read the region's page: it has the power of each MSB beside its limit."""
    with (
        httpx.Client(base_url=platform.url, timeout=60) as http,
        TestClient(create_pages(http, platform.clock), base_url="https://pages.example") as browser,
    ):
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        browser.post("/login", data={"token": token, "next": "/regions"}, follow_redirects=False)
        page = browser.get("/regions/west").text
        assert "kW by domain" in page
        assert "the variance of the power drawn" in page
