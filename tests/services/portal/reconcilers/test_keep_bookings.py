"""Bookings on a real database: a start that is a promise, or says that it is none."""

import math
from dataclasses import replace
from datetime import timedelta

import sqlalchemy as sa

from libs.domain.retirement import RetirementKind, RetirementScope, condition_of
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import announce_retirement, load_retirement
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from libs.store.platform.load_figures import count_bookings
from libs.store.regions.region_policies import update_policy
from tests.services.portal.conftest import OWNERS, create
from tests.services.portal.reconcilers.windows import ANY, DAY_S, ask, booked, booked_servers, get, window


def test_a_promised_start_is_whole_whoever_asks_meanwhile(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 30, None, capacity_rru=24, **ANY)))
    assert booked(owner, "launch") == ("True", "Booked", 32)
    why = owner.get(f"/v1/reservations/{get(owner, 'launch')['reservation_id']}/explain").json()
    assert (why["status"], why["code"]) == (409, "not_begun")
    assert "launch has not begun: it has no server yet. " in why["detail"]
    assert "32 servers" in why["detail"]
    with database.snapshot() as tx:
        servers = load_fleet_snapshot(tx, "west").servers
    assert servers.booked.sum() == 32
    [error] = owner.get(f"/v1/servers/{servers.id[0]}/explain?to=launch").json()["errors"]
    assert (error["field"], error["message"]) == ("to", "launch has not begun: it has no server yet")
    lasting = ask(owner, database, clock, create("lasting", window(clock, None, None, capacity_rru=24, **ANY)))
    status = owner.get(lasting).json()["status"]
    assert (status["phase"], status["numbers"]["booked_servers"]) == ("degraded", 32)
    assert "Free servers are booked for launch from" in status["message"]
    brief = ask(owner, database, clock, create("brief", window(clock, None, 29, capacity_rru=20, **ANY)))
    assert owner.get(brief).json()["status"]["phase"] == "granted"
    for _ in range(30):
        clock.sleep(DAY_S - 60)
        tick()
        clock.sleep(60)
        tick()
    launch = get(owner, "launch")["status"]
    assert (launch["phase"], launch["shortfall_rru"], launch["booked_servers"]) == ("granted", 0, 0)
    assert "Booked" not in [one["type"] for one in launch["conditions"]]


def test_what_was_promised_needs_no_approval_when_it_begins(owner, admin, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 1, None, capacity_rru=24, **ANY)))
    put = admin.put("/v1/regions/west/approval-limits", json={"size_cost_units": 1}, headers={"If-Match": '"0"'})
    assert put.status_code == 200
    clock.sleep(DAY_S)
    tick()
    assert get(owner, "launch")["status"]["phase"] == "granted"


def test_it_begins_before_its_start_by_the_lead(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 1, None, capacity_rru=24, **ANY)))
    clock.sleep(DAY_S - 3601)
    tick()
    assert get(owner, "launch")["status"]["phase"] == "scheduled"
    clock.sleep(1)
    tick()
    assert get(owner, "launch")["status"]["phase"] == "granted"


def test_beyond_the_horizon_it_is_no_promise_until_the_horizon_comes(owner, database, clock, tick) -> None:
    url = ask(owner, database, clock, create("launch", window(clock, 40, None, capacity_rru=24, **ANY)))
    status = owner.get(url).json()["status"]
    assert (status["phase"], status["reason"]) == ("scheduled", "Scheduled")
    assert "it would be granted" in status["message"]
    assert booked(owner, "launch") == ("False", "BeyondHorizon", 0)
    assert get(owner, "launch")["status"]["granted_rru"] == 0
    clock.sleep(4 * DAY_S)
    assert tick() == 0
    clock.sleep(DAY_S)
    assert tick() == 1
    assert booked(owner, "launch") == ("True", "Booked", 32)
    assert get(owner, "launch")["status"]["granted_rru"] == 24
    assert tick() == 0
    kept = booked_servers(database)
    clock.sleep(3600)
    assert tick() == 1
    assert booked_servers(database) == kept


def test_the_quota_is_asked_again_for_more_than_the_request_was_accepted_by(
    owner, admin, database, clock, tick
) -> None:
    limits = {"domain_limits": [{"kind": "msb", "domains_max": 2}]}
    spec = window(clock, 40, None, capacity_rru=9, **ANY, **limits)
    quota = f"/v1/quotas/west/{OWNERS[0]}"
    put = admin.put(quota, json={"limit_cost_units": 19}, headers={"If-Match": '"0"'})
    assert put.status_code == 200, put.text
    status = owner.get(ask(owner, database, clock, create("launch", spec))).json()["status"]
    assert (status["phase"], status["numbers"]["cost_units"]) == ("scheduled", 12)
    clock.sleep(5 * DAY_S)
    assert tick() == 1
    assert booked(owner, "launch") == ("False", "QuotaExceeded", 0), "it would hold 18, and old holds 2"
    assert admin.put(quota, json={"limit_cost_units": 20}, headers={"If-Match": '"1"'}).status_code == 200
    clock.sleep(900)
    assert tick() == 1
    assert booked(owner, "launch") == ("True", "Booked", 18)
    assert admin.put(quota, json={"limit_cost_units": 1}, headers={"If-Match": '"2"'}).status_code == 200
    clock.sleep(3600)
    assert tick() == 1
    assert booked(owner, "launch") == ("True", "Booked", 18), "a promise stays"


def test_a_shorter_horizon_takes_no_promise_back(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 30, None, capacity_rru=24, **ANY)))
    ask(owner, database, clock, create("later", window(clock, 40, None, capacity_rru=1, **ANY)))
    with database.write() as tx:
        region = load_region(tx, "west", lock=True)
        policy = replace(region.policy, booking_horizon_s=DAY_S)
        update_policy(tx, "west", policy, generation=region.generation, actor="olga", now=clock.now())
    clock.sleep(3600)
    assert tick() == 1
    assert booked(owner, "launch") == ("True", "Booked", 32)
    resize = {"kind": "resize", "region": "west", "reservation": "launch"}
    ask(owner, database, clock, resize | {"spec": {"capacity_rru": 12}})
    assert booked(owner, "launch") == ("True", "Booked", 16)
    assert booked(owner, "later") == ("False", "BeyondHorizon", 0)
    ask(owner, database, clock, resize | {"spec": window(clock, 31, None, capacity_rru=12, **ANY)})
    assert booked(owner, "launch") == ("False", "BeyondHorizon", 0)


def test_failed_servers_are_replaced_and_a_short_booking_is_tried_again(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 10, None, capacity_rru=32, **ANY)))
    assert booked(owner, "launch") == ("True", "Booked", 43)
    ask(owner, database, clock, create("later", window(clock, 60, None, capacity_rru=1, **ANY)))

    def counted(database: Database) -> dict[tuple[str, str], int]:
        with database.snapshot() as tx:
            return count_bookings(tx)

    def fail(up: str, count: int) -> None:
        query = f"""UPDATE servers SET unavailability = '{up}' WHERE server_id IN (
                        SELECT server_id FROM booked_servers ORDER BY server_id LIMIT {count})"""
        with database.write() as tx:
            tx.execute(sa.text(query))

    fail("unplanned", 1)
    assert tick() == 1
    assert booked(owner, "launch")[:2] == ("True", "Booked")
    with database.snapshot() as tx:
        servers = load_fleet_snapshot(tx, "west").servers
    assert not (servers.booked & ~servers.available).any()
    fail("unplanned", 5)
    assert tick() == 1
    assert booked(owner, "launch") == ("False", "TooFewFreeServers", 40)
    assert counted(database) == {("west", "no_promise"): 1, ("west", "beyond_horizon"): 1}
    assert tick() == 0  # too soon
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'none'"))
    clock.sleep(900)
    assert tick() == 1
    assert booked(owner, "launch") == ("True", "Booked", 43)
    assert counted(database) == {("west", "promise"): 1, ("west", "beyond_horizon"): 1}


def test_a_promise_takes_servers_that_are_booked_for_a_start_without_a_promise(owner, database, clock, tick) -> None:
    """All servers that may serve are booked: for a promise, and the rest for a start that is short."""
    ask(owner, database, clock, create("launch", window(clock, 5, None, capacity_rru=8, **ANY)))
    promised = booked(owner, "launch")
    assert promised[:2] == ("True", "Booked")
    ask(owner, database, clock, create("large", window(clock, 20, None, capacity_rru=32, **ANY)))
    status, _, rest = booked(owner, "large")
    assert (status, rest + promised[2]) == ("False", 45), "one more is of no use to it"
    launch = {"id": get(owner, "launch")["reservation_id"]}
    query = """UPDATE servers SET unavailability = 'unplanned' WHERE server_id IN (
                   SELECT server_id FROM booked_servers WHERE reservation_id = :id ORDER BY server_id LIMIT 3)"""
    with database.write() as tx:
        tx.execute(sa.text(query), launch)
    assert tick() == 1
    assert booked(owner, "launch") == promised
    status, _, left = booked(owner, "large")
    assert (status, left < rest) == ("False", True)


def test_a_retirement_names_the_bookings_that_lose_servers(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 10, None, capacity_rru=32, **ANY)))
    with database.write() as tx:
        announced = announce_retirement(
            tx,
            "west",
            scope=RetirementScope.MSB,
            scope_name="msb-03",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="old",
            due_at=clock.now() + timedelta(days=100),
            back_at=None,
            actor="olga",
            now=clock.now(),
        )
    said = condition_of(announced, clock.now()).message
    assert f"booked for later starts (launch {announced.booked['launch']})" in said
    assert tick() == 1
    assert booked(owner, "launch")[0] == "False"
    with database.snapshot() as tx:
        assert load_retirement(tx, announced.retirement_id).booked == {}


def test_an_extension_over_a_booking_is_refused(owner, database, clock) -> None:
    ask(owner, database, clock, create("old-one", window(clock, None, 5, capacity_rru=24, **ANY)))
    ask(owner, database, clock, create("launch", window(clock, 6, None, capacity_rru=30, **ANY)))
    assert booked(owner, "launch")[0] == "True"
    resize = {"kind": "resize", "region": "west", "reservation": "old-one"}
    ends_at = (clock.now() + timedelta(days=9)).isoformat()
    longer = ask(owner, database, clock, resize | {"spec": {"ends_at": ends_at}})
    status = owner.get(longer).json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "BookedByOthers")
    assert get(owner, "old-one")["status"]["phase"] == "granted"
    assert booked(owner, "launch")[0] == "True"


def test_a_change_that_cannot_be_booked_leaves_a_promised_start_as_it_is(owner, database, clock, tick) -> None:
    """The servers of the last days are booked for another launch, so an extension would have none of them."""
    ask(owner, database, clock, create("first", window(clock, 2, 5, capacity_rru=24, **ANY)))
    ask(owner, database, clock, create("second", window(clock, 6, None, capacity_rru=30, **ANY)))
    resize = {"kind": "resize", "region": "west", "reservation": "first"}
    longer = resize | {"spec": {"ends_at": (clock.now() + timedelta(days=9)).isoformat()}}
    would = owner.post("/v1/capacity-requests?dry_run=true", json=longer).json()["status"]
    status = owner.get(ask(owner, database, clock, longer)).json()["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("rejected", "BreaksPromise", would["message"])
    assert status["message"].startswith("Its start at ")
    assert "is a promise of 24 RRU, and stays as it is" in status["message"]
    assert "Free servers are booked for second from" in status["message"]
    assert booked(owner, "first") == ("True", "Booked", 32)
    clock.sleep(2 * DAY_S - 3600)
    late = owner.get(ask(owner, database, clock, longer)).json()["status"]  # its window has begun, and nothing joined
    assert (late["phase"], late["reason"]) == ("rejected", "BreaksPromise")
    tick()
    assert get(owner, "first")["status"]["phase"] == "granted"


def test_a_promised_start_stays_one_if_more_cannot_be_booked_until_it_is_given_up(owner, database, clock) -> None:
    """A start that holds less than is asked promises nothing, so a larger amount would take the promise of the old."""
    ask(owner, database, clock, create("launch", window(clock, 2, None, capacity_rru=20, **ANY)))
    resize = {"kind": "resize", "region": "west", "reservation": "launch"}
    ask(owner, database, clock, create("other", window(clock, 2, None, capacity_rru=10, **ANY)))
    larger = ask(owner, database, clock, resize | {"spec": {"capacity_rru": 34}})
    status = owner.get(larger).json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "BreaksPromise")
    assert "Ask for another change, or for the rest under another name" in status["message"]
    assert booked(owner, "launch")[0] == "True"
    possible = math.floor(34 - status["numbers"]["short_rru"])
    assert 20 < possible < 34
    ask(owner, database, clock, resize | {"spec": {"capacity_rru": possible}})
    assert booked(owner, "launch")[0] == "True"
    ask(owner, database, clock, resize | {"spec": window(clock, 40, None, capacity_rru=24, **ANY)})
    assert booked(owner, "launch") == ("False", "BeyondHorizon", 0)


def test_a_deleted_reservation_keeps_no_servers(owner, database, clock, tick) -> None:
    ask(owner, database, clock, create("launch", window(clock, 10, None, capacity_rru=24, **ANY)))
    url = f"/v1/reservations/{get(owner, 'launch')['reservation_id']}"
    assert owner.delete(url, headers={"If-Match": '"1"'}).status_code == 200
    with database.snapshot() as tx:
        assert tx.execute(sa.text("SELECT count(*) FROM booked_servers")).scalar_one() == 0
        assert not load_fleet_snapshot(tx, "west").servers.booked.any()
