"""Test the limit on an owner's promised capacity."""

import threading

import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import create
from tests.services.portal.reconcilers.test_assess_capacity_request import ask, assess

SMALL = {"rru": {"hw-a": 1, "hw-b": 1}, "survives_msb_loss": False}


def set_limit(admin: TestClient, limit_cost_units: float, reason: str = "budget") -> dict[str, object]:
    generation = admin.get("/v1/quotas/west/team").json()["generation"]
    body, match = {"limit_cost_units": limit_cost_units, "reason": reason}, {"If-Match": f'"{generation}"'}
    answer = admin.put("/v1/quotas/west/team", json=body, headers=match)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_limit_is_set_read_listed_and_lifted(admin: TestClient, client: TestClient, database: Database) -> None:
    none = client.get("/v1/quotas/west/team")
    assert none.json() == {
        "region": "west",
        "owner": "team",
        "limit_cost_units": None,
        "used_cost_units": 2,
        "pending_cost_units": 0,
        "generation": 0,
    }
    ask(client, capacity_rru=4)
    assert set_limit(admin, 10) == none.json() | {"limit_cost_units": 10, "pending_cost_units": 6, "generation": 1}
    stale = admin.put("/v1/quotas/west/team", json={"limit_cost_units": 1}, headers={"If-Match": '"0"'})
    assert (stale.status_code, stale.json()["found_generation"]) == (409, 1)
    assert [q["owner"] for q in client.get("/v1/quotas?region=west").json()["items"]] == ["team"]
    lifted = admin.delete("/v1/quotas/west/team?reason=over", headers={"If-Match": '"1"'}).json()
    assert (lifted["limit_cost_units"], lifted["generation"]) == (None, 2)
    assert client.get("/v1/quotas").json()["items"] == []
    assert client.get("/v1/quotas/wets/team").status_code == 404
    assert (
        client.put("/v1/quotas/west/team", json={"limit_cost_units": 9}, headers={"If-Match": '"2"'}).status_code == 403
    )
    with database.snapshot() as tx:
        trail = [e for e in list_entries(tx, subject_kind="region").items if e.action == "set_quota"]
    assert [(e.before["limit_cost_units"], e.after["limit_cost_units"], e.reason) for e in trail] == [
        (None, 10, "budget"),
        (10, None, "over"),
    ]


def test_what_is_above_it_is_refused_with_the_numbers(admin, client, database: Database) -> None:
    set_limit(admin, 10)
    first, second = ask(client, "a", **SMALL, capacity_rru=5), ask(client, "b", **SMALL, capacity_rru=4)
    told = assess(database, second)  # the first, undecided one came before it
    assert (told.phase, told.reason) == ("rejected", "QuotaExceeded")
    assert told.numbers == {
        "quota_cost_units": 10,
        "used_cost_units": 2,
        "pending_cost_units": 5,
        "asked_cost_units": 4,
    }
    assert "Ask for what may come to hold at most 3 cost units, return some," in told.message
    assert assess(database, first).phase == "granted"
    assert assess(database, ask(client, "c", **SMALL, capacity_rru=3)).phase == "granted"
    would = client.post("/v1/capacity-requests?dry_run=true", json=create("d")).json()["status"]
    assert (would["phase"], would["reason"], would["numbers"]["used_cost_units"]) == ("rejected", "QuotaExceeded", 10)
    assert "included. Return some, or ask an operator" in would["message"]
    other = create("other", SMALL | {"capacity_rru": 3}, owner="one")
    assert client.post("/v1/capacity-requests?dry_run=true", json=other).json()["status"]["phase"] == "granted"


def test_a_resize_that_does_not_grow_is_never_refused(admin, client, database: Database) -> None:
    assert assess(database, ask(client, "a", **SMALL, capacity_rru=6)).phase == "granted"
    set_limit(admin, 1)
    for rru, phase in ((6, "granted"), (7, "rejected"), (5, "granted")):
        body = {"kind": "resize", "region": "west", "reservation": "a", "spec": {"capacity_rru": rru}}
        request = client.post("/v1/capacity-requests", json=body).json()
        assert assess(database, request["capacity_request_id"]).phase == phase


def test_neither_small_rrus_nor_shares_stretch_a_quota(admin, client, database: Database) -> None:
    set_limit(admin, 12)  # 2 are in use
    cheap = assess(database, ask(client, "cheap", capacity_rru=10, rru={"hw-a": 0.035}, survives_msb_loss=False))
    assert (cheap.reason, cheap.numbers["asked_cost_units"]) == ("QuotaExceeded", 286)
    shares = {"dc-00": 10, "dc-01": 10}
    wide = assess(database, ask(client, "wide", capacity_rru=10, rru={"hw-a": 1}, affinity=shares))
    assert (wide.reason, wide.numbers["asked_cost_units"]) == ("QuotaExceeded", 200)
    fits = assess(database, ask(client, "web", capacity_rru=10, rru={"hw-a": 1}, survives_msb_loss=False))
    assert fits.phase == "granted"
    body = {"kind": "resize", "region": "west", "reservation": "web", "spec": {"affinity": {"dc-00": 2}}}
    request = client.post("/v1/capacity-requests", json=body).json()
    assert assess(database, request["capacity_request_id"]).reason == "QuotaExceeded"


def test_shrinking_frees_quota_when_the_servers_are_back(admin, client, database: Database) -> None:
    assert assess(database, ask(client, "a", **SMALL, capacity_rru=8)).phase == "granted"
    set_limit(admin, 10)
    _move_all(database)
    gone = {"kind": "delete", "region": "west", "reservation": "a"}
    assert client.post("/v1/capacity-requests", json=gone).status_code == 201
    assert admin.get("/v1/quotas/west/team").json()["used_cost_units"] == 10
    assert assess(database, ask(client, "a", **SMALL, capacity_rru=1)).reason == "QuotaExceeded"
    _move_all(database)
    assert admin.get("/v1/quotas/west/team").json()["used_cost_units"] == 2
    assert assess(database, ask(client, "a", **SMALL, capacity_rru=1)).phase == "granted"


def _move_all(database: Database) -> None:
    """Carry out all moves, as the mover would."""
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET current_reservation_id = target_reservation_id, in_use = false"))


def test_many_at_once_stay_within_it(app: FastAPI, admin, database: Database) -> None:
    set_limit(admin, 8)
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as operator:
        ids = [ask(operator, f"w{i}", **SMALL, capacity_rru=3) for i in range(5)]
    threads = [threading.Thread(target=assess, args=(database, i)) for i in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    quota = admin.get("/v1/quotas/west/team").json()
    assert (quota["used_cost_units"], quota["pending_cost_units"]) == (8, 0)


def test_an_owner_may_have_a_slash_in_its_name_everywhere(app: FastAPI, admin: TestClient, database: Database) -> None:
    """Owners' names may contain a slash, and servers decode %2F before they route."""
    made = admin.post("/v1/tokens", json={"name": "ci", "role": "requester", "owners": ["team/a"]})
    assert made.status_code == 201
    with TestClient(app, headers={"Authorization": f"Bearer {made.json()['secret']}"}) as client:
        asked = client.post("/v1/capacity-requests", json=create(owner="team/a"))
        assert (asked.status_code, asked.json()["owner"]) == (201, "team/a")
        for path in ("/v1/quotas/west/team%2Fa", "/v1/quotas/west/team/a"):
            found = client.get(path)
            assert (found.status_code, found.json()["owner"], found.json()["pending_cost_units"]) == (200, "team/a", 8)
    limited = admin.put("/v1/quotas/west/team%2Fa", json={"limit_cost_units": 1}, headers={"If-Match": '"0"'})
    assert (limited.status_code, limited.json()["limit_cost_units"]) == (200, 1)
    assert [q["owner"] for q in admin.get("/v1/quotas?region=west").json()["items"]] == ["team/a"]
    assert assess(database, asked.json()["capacity_request_id"]).reason == "QuotaExceeded"
    lifted = admin.delete("/v1/quotas/west/team%2Fa", headers={"If-Match": '"1"'})
    assert lifted.json()["limit_cost_units"] is None
