"""An operator lets servers leave at once, at the level *hold*, with a reason that their moves and the audit keep."""

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from libs.actuators.actuator import StepState
from libs.domain.reservation import ReservationSpec
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover, http
from tests.builders.region import region_image
from tests.builders.stored import stored

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0})
SERVERS = ["server-00", "server-04", "server-08"]
"""web survives the loss of an MSB with just one server in each of three."""


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """web is to give server-00 to no one, and a server arrives at it that never joins."""
    target = {"server-04": "web", "server-08": "web", "server-01": "web"}
    image = region_image(msbs=3, reservations={"web": WEB}, current=dict.fromkeys(SERVERS, "web"), target=target)
    stored(database, image)
    return Mover(database, clock)


@pytest.fixture
def client(mover: Mover) -> TestClient:
    return http(mover)


def mark(client: TestClient, **body: object) -> Response:
    return client.post("/v1/urgent-departures", json={"region": "west", "reason": "its disk fails", **body})


def stall(mover: Mover) -> None:
    """Let the server that arrives be on its way forever."""
    mover.actuator.say = lambda step: StepState.RUNNING if step.server == "server-01" else StepState.DONE


def test_a_marked_server_leaves_at_hold_at_once(mover: Mover, client: TestClient) -> None:
    stall(mover)
    for _ in range(3):
        mover.tick(60)
    assert mover.server("server-00").waits is not None, "it waits for the arrival"
    assert mark(client, servers=["server-00"]).json() == {"marked": 1}
    (listed,) = client.get("/v1/urgent-departures", params={"region": "west"}).json()["items"]
    assert (listed["server"], listed["reservation"], listed["reason"]) == ("server-00", "web", "its disk fails")
    for _ in range(4):
        mover.tick(60)
    assert mover.server("server-00").current_reservation is None
    (move,) = mover.moves("server-00")
    assert move.urgent_reason == "its disk fails"
    assert client.get("/v1/urgent-departures").json()["items"] == [], "it has left"
    with mover.database.snapshot() as tx:
        (entry,) = [one for one in list_entries(tx).items if one.action == "mark_urgent"]
    assert (entry.reason, entry.after) == ("its disk fails", {"server_ids": [listed["server_id"]]})


def test_a_marked_server_does_not_leave_below_hold(mover: Mover, client: TestClient) -> None:
    stall(mover)
    mark(client, servers=SERVERS)
    mover.retarget(server_04=None, server_08=None)
    for _ in range(6):
        mover.tick(60)
    assert sum(mover.server(name).current_reservation == "web" for name in SERVERS) == 2, "it is promised two"


def test_a_mark_can_be_removed_and_names_what_it_does_not_know(mover: Mover, client: TestClient) -> None:
    assert mark(client, servers=["server-99"]).status_code == 422
    assert mark(client).status_code == 422
    assert mark(client, retirement_id=7).status_code == 404
    assert mark(client, servers=["server-02"]).status_code == 409, "it is free"
    mark(client, servers=["server-00"])
    server_id = mover.server("server-00").server_id
    assert client.delete(f"/v1/urgent-departures/{server_id}", params={"reason": "mended"}).status_code == 204
    assert client.delete(f"/v1/urgent-departures/{server_id}", params={"reason": "mended"}).status_code == 404
