"""Test over REST what a reservation held: its status, its pages, and the condition Ready."""

from collections.abc import Callable, Sequence

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from services.mover.reconcilers.watch_reservations import WatchReservations
from tests.builders.granted import ask
from tests.builders.stored import read, reservation_id

LOSE_ONE = """
    UPDATE servers SET unavailability = 'unplanned' WHERE server_id = (
        SELECT min(server_id) FROM servers WHERE current_reservation_id = :old AND unavailability = 'none')"""


@pytest.fixture
def old(database: Database) -> int:
    """A reservation that holds its two servers."""
    return reservation_id(read(database), "old")


@pytest.fixture
def look(database: Database) -> Callable[[], None]:
    def run() -> None:
        WatchReservations(database, SystemClock(), "west").reconcile()

    return run


def ready_of(status: dict) -> dict:
    return next(one for one in status["conditions"] if one["type"] == "Ready")


def test_a_status_says_for_how_long_it_was_whole(client: TestClient, old: int, look: Callable[[], None]) -> None:
    before = client.get(f"/v1/reservations/{old}").json()["status"]
    assert (before["availability_30d"], before["watched_30d_s"]) == (None, 0)
    assert (ready_of(before)["status"], ready_of(before)["last_transition"]) == ("True", None)
    assert client.get(f"/v1/reservations/{old}/history").json() == {"items": [], "next_cursor": None}
    look()
    look()
    after = client.get(f"/v1/reservations/{old}").json()["status"]
    assert after["availability_30d"] == 1.0
    assert after["watched_30d_s"] > 0
    [interval] = client.get(f"/v1/reservations/{old}/history").json()["items"]
    assert ready_of(after)["last_transition"] == interval["from_at"] < interval["until_at"]
    assert (interval["ready"], interval["reason"]) == ("True", "Held")
    assert (interval["capacity_rru"], interval["held_rru"], interval["held_after_msb_loss_rru"]) == (2, 2, 0)
    [listed] = client.get("/v1/reservations", params={"name": "old"}).json()["items"]
    assert listed["status"]["availability_30d"] == 1.0


def test_a_loss_is_told_at_once_and_its_time_once_it_is_recorded(
    client: TestClient, database: Database, old: int, look: Callable[[], None]
) -> None:
    look()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-00'"))
    ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
    assert (ready["status"], ready["reason"], ready["last_transition"]) == ("False", "CapacityLost", None)
    assert "It held its promise before and lost servers." in ready["message"]
    look()
    newest, first = client.get(f"/v1/reservations/{old}/history").json()["items"]
    ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
    assert ready["last_transition"] == newest["from_at"] == first["until_at"]
    assert (newest["reason"], newest["held_rru"]) == ("CapacityLost", 1)


def test_a_reservation_with_a_server_in_maintenance_does_not_wait_for_moves(
    client: TestClient, database: Database, old: int, look: Callable[[], None]
) -> None:
    look()
    with database.write() as tx:
        tx.execute(sa.text(LOSE_ONE.replace("unplanned", "planned")), {"old": old})
    ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
    assert (ready["status"], ready["reason"]) == ("False", "CapacityLost")
    said = "The targets give 2, and moves bring no more. Of its own, some are in maintenance: `plimsoll get servers "
    assert ready["message"].endswith(f"{said}-w region=west -w current=old`.")


@pytest.mark.parametrize(
    ("requests", "said", "lost"),
    [
        (
            [("create", 2, "degraded")],
            "None of the 2 RRU asked for is granted yet, so none is promised.",
            ("NotThereYet", "NotThereYet"),
        ),
        (
            [("create", 1, "granted"), ("resize", 2, "degraded")],
            "1 of the 2 RRU asked for are granted, and only these are promised.",
            ("NotThereYet", "CapacityLost"),
        ),
        ([("create", 2, "granted")], "", ("CapacityLost", "CapacityLost")),
    ],
)
def test_ready_calls_only_what_was_granted_a_promise(
    client: TestClient,
    database: Database,
    old: int,
    look: Callable[[], None],
    requests: Sequence[tuple[str, float, str]],
    said: str,
    lost: tuple[str, str],
) -> None:
    """It holds two servers, and then loses one after the other."""
    ask(database, requests, name="old")
    look()
    granted_rru = client.get(f"/v1/reservations/{old}").json()["status"]["granted_rru"]
    assert client.get(f"/v1/reservations/{old}/history").json()["items"][0]["granted_rru"] == granted_rru
    ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
    assert (ready["reason"], ready["message"]) == ("Held", f"Holds 2 of 2 RRU. {said}".rstrip())
    for left, reason in zip((1, 0), lost, strict=True):
        with database.write() as tx:
            tx.execute(sa.text(LOSE_ONE), {"old": old})
        ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
        before = "It held its promise before and lost servers. " if reason == "CapacityLost" else ""
        assert ready["reason"] == reason
        down = "1 server is" if left else "2 servers are"
        own = f"and moves bring no more. Of its own, {down} down: `plimsoll get servers -w region=west -w current=old`."
        assert ready["message"].startswith(f"Holds {left} of 2 RRU. {before}The targets give {left}, {own}")
        assert ready["message"].endswith(said)
    [listed] = client.get("/v1/reservations", params={"name": "old"}).json()["items"]
    assert ready_of(listed["status"])["message"] == ready["message"]
    explained = client.get(f"/v1/reservations/{old}/explain").json()
    assert explained["ready"]["message"] == ready["message"]
    assert said in explained["summary"]


def test_what_was_promised_is_told_later(
    client: TestClient, database: Database, old: int, look: Callable[[], None]
) -> None:
    """A resize from 1 to 2 waits, and is granted later."""
    ask(database, [("create", 1, "granted"), ("resize", 2, "degraded")], name="old")
    look()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE capacity_requests SET phase = 'granted'"))
    look()
    items = client.get(f"/v1/reservations/{old}/history").json()["items"]
    assert [(one["capacity_rru"], one["granted_rru"]) for one in items] == [(2, 2), (2, 1)]


def test_what_an_earlier_version_did_not_keep_is_unknown(
    client: TestClient, database: Database, old: int, look: Callable[[], None]
) -> None:
    """The first look of this version keeps it."""
    look()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE readiness_changes SET granted_rru = NULL"))
    path = f"/v1/reservations/{old}/history"
    assert [one["granted_rru"] for one in client.get(path).json()["items"]] == [None]
    look()
    look()
    newest, first = client.get(path).json()["items"]
    assert (newest["granted_rru"], first["granted_rru"]) == (2, None)
    assert (newest["reason"], newest["until_at"] > newest["from_at"]) == (first["reason"], True)
    ready = ready_of(client.get(f"/v1/reservations/{old}").json()["status"])
    assert ready["last_transition"] == first["from_at"], "such a record is no transition"


def test_pages_are_followed_by_cursor(
    client: TestClient, database: Database, old: int, look: Callable[[], None]
) -> None:
    for state in ("none", "unplanned", "none"):
        with database.write() as tx:
            values = {"state": state}
            tx.execute(sa.text("UPDATE servers SET unavailability = :state WHERE name = 'server-00'"), values)
        look()
    path, found, cursor = f"/v1/reservations/{old}/history", [], None
    for _ in range(3):
        page = client.get(path, params={"limit": 1} | ({"cursor": cursor} if cursor else {})).json()
        found += page["items"]
        cursor = page["next_cursor"]
    assert cursor is None
    assert [one["reason"] for one in found] == ["Held", "CapacityLost", "Held"]
    assert found == client.get(path).json()["items"]
    assert client.get("/v1/reservations/999/history").status_code == 404
