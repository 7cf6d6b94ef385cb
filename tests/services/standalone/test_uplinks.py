"""Racks above the limits of their uplinks are relieved, from what an operator and an owner say to the servers held."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.policy import RegionPolicy
from libs.interchange.region.write import dump_region
from tests.builders.one_process import Platform, SteppedClock, one_process
from tests.builders.region import region_image

PATH = "/v1/regions/west/uplinks"


@pytest.fixture
def world(empty_database_url: str, tmp_path: Path) -> Iterator[tuple[Platform, httpx.Client]]:
    """One MSB of two racks with 4 servers each."""
    clock = SteppedClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    simulated = SimulatedActuator(clock, SimulatedSettings.model_validate({"PLIMSOLL_SIMULATED_FAILURE_RATE": 0}))
    policy = RegionPolicy(shared_buffer_share=0.0, daily_churn_share=1.0, solve_churn_share=1.0)
    image = region_image(msbs=1, datacenters=1, racks_per_msb=2, servers_per_rack=4, policy=policy)
    with one_process(empty_database_url, tmp_path, clock, simulated) as (platform, admin):
        headers = {"Authorization": f"Bearer {admin}"}
        with httpx.Client(base_url=platform.url, headers=headers, timeout=60) as http:
            files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
            answer = http.post("/v1/regions/west/import", files=files)
            assert answer.is_success, answer.text
            yield platform, http


def live(platform: Platform, minutes: int = 15) -> None:
    for _ in range(minutes):
        platform.clock.skip(60)
        platform.tick()


def limit(http: httpx.Client, **limits: float) -> None:
    body = {"limits": {name.replace("_", "-"): gbit for name, gbit in limits.items()}}
    answer = http.put(PATH, json=body, headers={"If-Match": http.get(PATH).headers["ETag"]})
    assert answer.is_success, answer.text


def sent(http: httpx.Client) -> dict[str, float]:
    return {one["rack"]: one["current_gbit"] for one in http.get(PATH).json()["fullest"]}


def test_a_reservation_sends_from_racks_that_have_gbit_to_spare(world: tuple[Platform, httpx.Client]) -> None:
    platform, http = world
    limit(http, rack_00=10, rack_01=50)
    spec = {"capacity_rru": 4, "rru": {"hw-a": 1}, "survives_msb_loss": False, "gbit_per_rru": 10}
    asked = http.post("/v1/reservations", json={"region": "west", "name": "cache", "owner": "team", "spec": spec})
    assert asked.status_code == 202, asked.text
    live(platform)
    [cache] = http.get("/v1/reservations", params={"region": "west", "name": "cache"}).json()["items"]
    assert cache["spec"]["gbit_per_rru"] == 10
    assert sum(sent(http).values()) == 40, "it holds four servers"
    assert sent(http)["rack-00"] <= 10

    limit(http, rack_00=50, rack_01=10)
    found = http.get(PATH).json()
    assert (found["racks_above"], found["fullest"][0]["rack"]) == (1, "rack-01")
    assert found["current_above_gbit"] >= 20
    run = http.post("/v1/solve-runs", json={"region": "west"})
    assert run.is_success, run.text
    live(platform, 30)
    reports = [one["report"] or {} for one in http.get("/v1/solve-runs", params={"region": "west"}).json()["items"]]
    assert [phase["phase"] for report in reports for phase in report.get("phases", ())] == ["uplinks"]
    assert (http.get(PATH).json()["racks_above"], http.get(PATH).json()["current_above_gbit"]) == (0, 0)
    assert sum(sent(http).values()) == 40
