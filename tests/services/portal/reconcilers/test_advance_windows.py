"""Test reservations that begin and end, on a clock that the test moves."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from services.portal.reconcilers.advance_windows import AdvanceWindows
from tests.builders.clock import ManualClock
from tests.builders.race import wait_for_a_lock
from tests.services.portal.conftest import WEB, create
from tests.services.portal.reconcilers.windows import DAY_S, ask, assess_waiting, get, window


@pytest.fixture
def advance(database: Database, clock: ManualClock):
    """Run scheduler and workers; return (begun, ended) after the assessments that follow."""

    def run() -> tuple[int, int]:
        counts = AdvanceWindows(database, clock, "west").reconcile()
        assess_waiting(database, clock)
        return counts

    return run


def test_it_begins_and_ends(owner: TestClient, database: Database, clock: ManualClock, advance) -> None:
    body = create(spec=window(clock, 2, 5))
    would = owner.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]
    url = ask(owner, database, clock, body)
    status = owner.get(url).json()["status"]
    assert (status["phase"], status["reason"]) == ("scheduled", "Booked")
    assert status["message"] == would["message"]
    web = get(owner)
    assert (web["status"]["phase"], web["status"]["shortfall_rru"]) == ("scheduled", 0)
    assert web["status"]["conditions"][0]["reason"] == "Scheduled"
    assert re.match(r"Starts at [\d-]+ [\d:]+ UTC and", web["status"]["conditions"][0]["message"])
    assert [r["name"] for r in owner.get("/v1/reservations?phase=scheduled").json()["items"]] == ["web"]
    with database.snapshot() as tx:
        assert "web" not in load_fleet_snapshot(tx, "west").reservations.name
        image = load_region_image(tx, "west")
    assert len(image.reservation_owner) == len(image.snapshot.reservations) == 2
    assert owner.post("/v1/capacity-requests", json=create()).json()["code"] == "duplicate_name"

    clock.sleep(DAY_S)
    assert advance() == (0, 0)
    clock.sleep(DAY_S)
    assert advance() == (1, 0)
    assert advance() == (0, 0)
    assert owner.get(url).json()["status"]["phase"] == "granted"
    web = get(owner)
    assert (web["status"]["phase"], web["status"]["shortfall_rru"]) == ("granted", 0)
    servers = web["status"]["target"]["servers"]
    assert servers > 0
    with database.snapshot() as tx:
        assert "web" in load_fleet_snapshot(tx, "west").reservations.name

    clock.sleep(3 * DAY_S)
    assert advance() == (0, 1)
    assert advance() == (0, 0)
    gone = owner.get(f"/v1/reservations/{web['reservation_id']}").json()
    assert (gone["status"]["phase"], gone["status"]["target"]["servers"]) == ("deleted", 0)
    [delete] = [r for r in owner.get("/v1/capacity-requests").json()["items"] if r["kind"] == "delete"]
    freed = {"released_servers": servers, "servers_in_use": 0}
    assert (delete["requested_by"], delete["status"]["numbers"]) == ("portal.windows", freed)
    with database.snapshot() as tx:
        *_, last = list_entries(tx, subject_kind="reservation", subject_id=web["reservation_id"]).items
    assert (last.actor, last.action) == ("portal.windows", "delete")
    assert "Its time ended at" in last.reason


def test_it_may_begin_short_if_nothing_was_promised(owner, database, clock, advance) -> None:
    big = {"rru": {"hw-a": 1, "hw-b": 1}, "capacity_rru": 30}
    ask(owner, database, clock, create("sooner", WEB | big))
    later = ask(owner, database, clock, create("later", window(clock, 1, None, **big)))
    [booked] = [c for c in get(owner, "later")["status"]["conditions"] if c["type"] == "Booked"]
    assert booked["status"] == "False"
    clock.sleep(DAY_S)
    advance()
    assert owner.get(later).json()["status"]["phase"] == "degraded"


def test_a_change_before_it_begins(owner, database, clock, advance) -> None:
    url = ask(owner, database, clock, create(spec=window(clock, 2, None)))
    etag = owner.get(url).headers["etag"]
    for answer in (
        owner.delete(url, headers={"If-Match": etag}),
        owner.patch(url, json={"spec": {"capacity_rru": 7}}, headers={"If-Match": etag}),
    ):
        assert (answer.status_code, "resize or delete web" in answer.json()["detail"]) == (409, True)
    resize = {"kind": "resize", "region": "west", "reservation": "web", "spec": {"capacity_rru": 7}}
    second = ask(owner, database, clock, resize)
    assert owner.get(second).json()["status"]["phase"] == "scheduled"
    first = owner.get(url).json()["status"]
    assert (first["phase"], first["reason"]) == ("withdrawn", "Superseded")
    clock.sleep(2 * DAY_S)
    assert advance() == (1, 0)
    assert owner.get(second).json()["status"]["phase"] == "granted"
    assert get(owner)["spec"]["capacity_rru"] == 7
    late = owner.post("/v1/capacity-requests", json=resize | {"spec": window(clock, 3, None)})
    assert late.json()["errors"][0]["code"] == "immutable"
    ends = ask(owner, database, clock, resize | {"spec": {"ends_at": (clock.now() + timedelta(days=1)).isoformat()}})
    assert owner.get(ends).json()["status"]["phase"] == "granted"


def test_one_that_is_deleted_or_called_at_once_waits_no_more(owner, database, clock, advance) -> None:
    for name in ("dropped", "hurried"):
        ask(owner, database, clock, create(name, window(clock, 2, None)))
    dropped, hurried = get(owner, "dropped"), get(owner, "hurried")
    match = {"If-Match": '"1"'}
    assert owner.delete(f"/v1/reservations/{dropped['reservation_id']}", headers=match).status_code == 200
    at_once = {"spec": {"starts_at": None}}
    owner.patch(f"/v1/reservations/{hurried['reservation_id']}", json=at_once, headers=match)
    assess_waiting(database, clock)
    assert get(owner, "hurried")["status"]["phase"] == "granted"
    clock.sleep(3 * DAY_S)
    assert advance() == (0, 0)
    assert owner.get("/v1/capacity-requests?phase=scheduled").json()["items"] == []


def test_one_that_can_never_be_met_when_it_begins_is_not_kept(owner, database, clock, advance) -> None:
    url = ask(owner, database, clock, create(spec=window(clock, 1, None)))
    with database.write() as tx:  # a reservation that does not grow is not refused: its promise counts already
        set_quota(tx, "west", "team", 1.0, generation=0)
        tx.execute(sa.text("DELETE FROM booked_servers"))
        query = "DELETE FROM servers WHERE server_id NOT IN (SELECT server_id FROM servers ORDER BY 1 LIMIT 3)"
        tx.execute(sa.text(query))
    clock.sleep(DAY_S)
    advance()
    status = owner.get(url).json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "BeyondRegion")
    assert owner.get("/v1/reservations?name=web").json()["items"] == []


def limit_team(database: Database, cost_units: float, *, generation: int = 0) -> None:
    with database.write() as tx:
        set_quota(tx, "west", "team", cost_units, generation=generation)


@pytest.fixture
def two_msbs(database: Database) -> dict[str, object]:
    """Leave hw-a in two of the four MSBs. So this reservation needs 8 servers, and 6 if the MSBs were alike."""
    with database.write() as tx:
        tx.execute(
            sa.text(
                """UPDATE servers SET unavailability = 'unplanned' FROM racks JOIN msbs USING (msb_id), hardware_types
                   WHERE servers.rack_id = racks.rack_id AND msbs.name IN ('msb-02', 'msb-03')
                     AND hardware_types.hardware_type_id = servers.hardware_type_id
                     AND hardware_types.name = 'hw-a'"""
            )
        )
    return {"capacity_rru": 4, "rru": {"hw-a": 1}}


def test_the_servers_that_are_booked_count_toward_the_quota(owner, database, clock, two_msbs) -> None:
    limit_team(database, 9)  # the reservation `old` counts 2 of them
    body = create(spec=window(clock, 1, None, **two_msbs))
    refused = owner.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]
    assert (refused["reason"], refused["numbers"]["asked_cost_units"]) == ("QuotaExceeded", 8)
    limit_team(database, 10, generation=1)
    ask(owner, database, clock, body)
    with database.snapshot() as tx:
        assert load_quota(tx, "west", "team").used_cost_units == 10


@pytest.mark.parametrize("booked", [8, 7])
def test_a_promised_start_stands_under_a_lower_quota(owner, database, clock, advance, two_msbs, booked: int) -> None:
    url = ask(owner, database, clock, create(spec=window(clock, 1, None, **two_msbs)))
    limit_team(database, 5)
    with database.write() as tx:
        spare = "SELECT server_id FROM booked_servers ORDER BY 1 LIMIT :rest"
        tx.execute(sa.text(f"DELETE FROM booked_servers WHERE server_id IN ({spare})"), {"rest": 8 - booked})
    clock.sleep(DAY_S)
    advance()
    assert owner.get(url).json()["status"]["phase"] == "granted"


@pytest.mark.parametrize(
    ("starts_d", "ends_d", "field", "code", "said"),
    [
        (2, 1, "ends_at", "not_after_start", "must be after its start at "),
        (None, -1, "ends_at", "past", "name a later time"),
        (-2, None, "starts_at", "past", "leave it out to begin at once"),
        (4000, None, "starts_at", "too_far", "name an earlier time"),
        (None, 4000, "ends_at", "too_far", "leave it out"),
    ],
)
def test_windows_that_cannot_be(owner, clock, starts_d, ends_d, field: str, code: str, said: str) -> None:
    answer = owner.post("/v1/capacity-requests", json=create(spec=window(clock, starts_d, ends_d)))
    [error] = answer.json()["errors"]
    assert (error["field"], error["code"]) == (f"spec.{field}", code)
    assert said in error["message"]
    assert "+00:00" not in error["message"], "a time is told as people read it"


def test_a_time_without_a_zone_is_refused(owner) -> None:
    answer = owner.post("/v1/capacity-requests", json=create(spec=WEB | {"starts_at": "2026-12-01T00:00:00"}))
    assert answer.json()["errors"][0]["field"] == "spec.starts_at"


def test_before_it_begins_there_is_nothing_to_explain(
    owner: TestClient, database: Database, clock: ManualClock
) -> None:
    ask(owner, database, clock, create(spec=window(clock, 2, 5)))
    url = f"/v1/reservations/{get(owner)['reservation_id']}/explain"
    for query in ({}, {"server": "server-03"}):
        refused = owner.get(url, params=query)
        assert (refused.status_code, refused.json()["code"]) == (409, "not_begun")
    [old] = owner.get("/v1/reservations", params={"name": "old"}).json()["items"]
    url = f"/v1/reservations/{old['reservation_id']}/explain"
    refused = owner.get(url, params={"server": "server-00", "to": "web"}).json()
    assert [error["field"] for error in refused["errors"]] == ["to"]
    assert "web" not in refused["errors"][0]["known"]


def test_what_has_ended_holds_no_servers_while_another_is_waited_for(
    owner: TestClient, database: Database, clock: ManualClock
) -> None:
    """Otherwise a solve that binds servers of one to the other would deadlock with it, and be lost."""
    for name, ends_d in (("first", 1), ("second", 2)):
        ask(owner, database, clock, create(name, window(clock, None, ends_d)))
    first, second = (get(owner, name)["reservation_id"] for name in ("first", "second"))
    clock.sleep(3 * DAY_S)
    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            tx.execute(sa.text("SELECT FROM reservations WHERE reservation_id = :id FOR SHARE"), {"id": second})
            ending = pool.submit(AdvanceWindows(database, clock, "west").reconcile)
            wait_for_a_lock(database, ending.done)
            query = (
                "SELECT count(*) FROM (SELECT FROM servers WHERE current_reservation_id IS NULL FOR UPDATE NOWAIT) AS s"
            )
            assert tx.execute(sa.text(query)).scalar_one() > 0
        assert ending.result() == (0, 2)
    for reservation_id in (first, second):
        assert owner.get(f"/v1/reservations/{reservation_id}").json()["status"]["phase"] == "deleted"


def test_what_is_approved_after_its_time_takes_nothing(
    owner: TestClient, admin: TestClient, database: Database, clock: ManualClock
) -> None:
    put = admin.put("/v1/regions/west/approval-limits", json={"size_cost_units": 1}, headers={"If-Match": '"0"'})
    assert put.status_code == 200
    url = ask(owner, database, clock, create(spec=window(clock, 2, 5)))
    [approval] = admin.get("/v1/approvals?status=pending").json()["items"]
    clock.sleep(6 * DAY_S)
    match = {"If-Match": f'"{approval["generation"]}"'}
    path = f"/v1/approvals/{approval['approval_id']}/approve"
    assert admin.post(path, json={"reason": "late"}, headers=match).status_code == 200
    assess_waiting(database, clock)
    status = owner.get(url).json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "WindowOver")
    assert owner.get("/v1/reservations", params={"name": "web"}).json()["items"] == []
