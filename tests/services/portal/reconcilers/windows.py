"""Ask for reservations that begin and end, and look at what is booked for them."""

from __future__ import annotations

from datetime import timedelta

from fastapi.testclient import TestClient

from libs.store.capacity.capacity_requests import list_unassessed
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from tests.builders.clock import ManualClock
from tests.services.portal.conftest import WEB

DAY_S = 86_400.0
ANY = {"rru": {"hw-a": 1, "hw-b": 1}}
"""Each of the 48 servers gives one RRU. Two of them are held, and 12 are in each MSB."""


def assess_waiting(database: Database, clock: ManualClock) -> None:
    with database.snapshot() as tx:
        waiting = list_unassessed(tx, job_kind="none", limit=100)
    for capacity_request_id, _ in waiting:
        AssessCapacityRequest(database, clock, capacity_request_id).reconcile()


def window(clock: ManualClock, starts_d: float | None, ends_d: float | None, **spec: object) -> dict[str, object]:
    def at(days: float | None) -> str | None:
        return None if days is None else (clock.now() + timedelta(days=days)).isoformat()

    return WEB | {"starts_at": at(starts_d), "ends_at": at(ends_d)} | spec


def get(client: TestClient, name: str = "web") -> dict[str, object]:
    [found] = client.get("/v1/reservations", params={"name": name}).json()["items"]
    return found


def ask(client: TestClient, database: Database, clock: ManualClock, body: dict[str, object]) -> str:
    answer = client.post("/v1/capacity-requests", json=body)
    assert answer.status_code == 201, answer.text
    assess_waiting(database, clock)
    return answer.headers["location"]


def booked(client: TestClient, name: str) -> tuple[str, str, int]:
    """Return status and reason of the condition Booked of a reservation, and its booked servers."""
    status = get(client, name)["status"]
    [condition] = [one for one in status["conditions"] if one["type"] == "Booked"]
    return condition["status"], condition["reason"], status["booked_servers"]


def booked_servers(database: Database) -> list[str]:
    with database.snapshot() as tx:
        servers = load_fleet_snapshot(tx, "west").servers
    return [str(name) for name in servers.name[servers.booked]]
