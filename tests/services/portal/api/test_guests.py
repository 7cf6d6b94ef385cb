"""An owner may ask for a share of the servers of another reservation: a guest."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.capacity.reservations import create_reservation
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.portal import record_request
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.stored import read
from tests.services.portal.conftest import create
from tests.services.portal.guest_requests import HOST, decided, granted, guest, resize, row_of


def refusal(client: TestClient, body: dict) -> dict:
    answer = client.post("/v1/capacity-requests", json=body)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    return error


def delete(client: TestClient, name: str) -> httpx.Response:
    row = row_of(client, name)
    return client.delete(f"/v1/reservations/{row['reservation_id']}", headers={"If-Match": f'"{row["generation"]}"'})


def granted_of(client: TestClient, name: str) -> dict:
    return next(one for one in row_of(client, name)["status"]["conditions"] if one["type"] == "Granted")


def arrive(database: Database) -> None:
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET current_reservation_id = target_reservation_id"))


@pytest.fixture
def solve(database: Database, tmp_path: Path) -> Callable[[], None]:
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path, "PLIMSOLL_BUNDLES_MAX": 1})

    def run() -> None:
        SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()

    return run


@pytest.mark.usefixtures("web")
def test_a_dry_run_of_the_deletion_of_a_guest_frees_none_of_its_hosts_servers(
    client: TestClient, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest())
    body = {"kind": "delete", "region": "west", "reservation": "cache"}
    asked = client.post("/v1/capacity-requests?dry_run=true", json=body)
    assert asked.status_code == 200, asked.text
    said = asked.json()["status"]
    assert said["message"] == "cache would be deleted: no server is freed."
    assert said["numbers"]["released_servers"] == 0
    deleted = client.post("/v1/capacity-requests", json=body)
    assert deleted.json()["status"]["message"] == "cache is deleted: no server is freed."


@pytest.mark.usefixtures("web")
def test_a_guest_is_granted_on_the_servers_of_its_host(
    client: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    cache = granted(client, assess_all, guest())
    arrive(database)
    web, cache = row_of(client, "web"), row_of(client, "cache")
    assert (cache["spec"]["guest_of"], cache["spec"]["guest_share"]) == ("web", 0.25)
    assert (cache["spec"]["rru"], web["spec"]["rru"]) == ({"hw-a": 4}, {"hw-a": 1, "hw-b": 2})
    assert web["spec"]["resources"] == {}
    assert web["status"]["guests"] == [{"name": "cache", "share": 0.25}]
    assert cache["status"]["servers"] == web["status"]["servers"]
    region = read(database)
    assert region.reservations.rru[region.reservations.name == "web"].tolist() == [[0.75, 1.5]]
    mine = region.servers.target == region.reservations.name.tolist().index("web")
    of_type = region.hardware_types[region.servers.hardware_type[mine]].tolist()
    expected = of_type.count("hw-a") * 4 * 0.25
    assert cache["status"]["held_rru"] == expected
    assert cache["status"]["held_after_msb_loss_rru"] >= 4
    assert web["status"]["held_rru"] == of_type.count("hw-a") * 0.75 + of_type.count("hw-b") * 1.5
    assert web["status"]["held_after_msb_loss_rru"] >= 8
    for row in (web, cache):
        ready = next(one for one in row["status"]["conditions"] if one["type"] == "Ready")
        assert ready["status"] == "True", ready
    assert "RRU of its guest cache" in next(c for c in web["status"]["conditions"] if c["type"] == "Ready")["message"]
    assert "guest:" not in f"{web}{cache}"


@pytest.mark.usefixtures("web")
def test_the_servers_of_a_guest_are_those_of_its_host(
    client: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    cache = granted(client, assess_all, guest())
    arrive(database)
    web = row_of(client, "web")
    of_host = client.get(f"/v1/reservations/{web['reservation_id']}/servers").json()["items"]
    of_guest = client.get(f"/v1/reservations/{cache['reservation_id']}/servers").json()["items"]
    assert {one["share"] for one in of_host} == {0.75}
    assert {one["share"] for one in of_guest} == {0.25}
    assert [one["name"] for one in of_guest] == [one["name"] for one in of_host] != []


@pytest.mark.usefixtures("web")
def test_a_resize_of_either_keeps_both(client: TestClient, database: Database, assess_all: Callable[[], None]) -> None:
    granted(client, assess_all, guest())
    assert resize(client, "cache", {"capacity_rru": 12}).status_code == 202
    assess_all()
    assert row_of(client, "cache")["spec"]["capacity_rru"] == 12
    assert row_of(client, "cache")["status"]["shortfall_rru"] == 0
    assert resize(client, "web", {"capacity_rru": 12}).status_code == 202
    assess_all()
    web, cache = row_of(client, "web"), row_of(client, "cache")
    assert (web["spec"]["capacity_rru"], web["status"]["shortfall_rru"]) == (12, 0)
    assert (cache["spec"]["capacity_rru"], cache["status"]["shortfall_rru"]) == (12, 0)
    assert resize(client, "cache", {"guest_share": 0.5}).status_code == 202
    assess_all()
    assert row_of(client, "web")["status"]["guests"] == [{"name": "cache", "share": 0.5}]
    region = read(database)
    assert region.reservations.rru[region.reservations.name == "web"].tolist() == [[0.5, 1.0]]


@pytest.mark.usefixtures("web")
def test_a_host_is_deleted_after_its_guests(client: TestClient, assess_all: Callable[[], None]) -> None:
    granted(client, assess_all, guest())
    refused = delete(client, "web")
    assert (refused.status_code, refused.json()["code"]) == (409, "has_guests")
    assert "cache" in refused.json()["detail"]
    gone = delete(client, "cache")
    assert gone.status_code == 200, gone.text
    web = row_of(client, "web")
    assert (web["status"]["guests"], web["status"]["shortfall_rru"]) == ([], 0)
    assert delete(client, "web").status_code == 200


def test_a_delete_by_who_read_the_host_before_its_guest_came_tells_of_the_guest(
    client: TestClient, web: dict, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest())
    url, before = f"/v1/reservations/{web['reservation_id']}", {"If-Match": f'"{web["generation"]}"'}
    refused = client.delete(url, headers=before)
    assert (refused.status_code, refused.json()["code"]) == (409, "has_guests"), refused.text


@pytest.mark.parametrize("path", ["reservations", "capacity-requests"])
def test_a_delete_that_races_a_new_guest_tells_of_it(
    client: TestClient, web: dict, database_url: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    other = Database(database_url)

    def guest_comes(*_: object) -> int:
        with other.write() as tx:
            spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 4.0}, guest_of="web", guest_share=0.25)
            region_id = load_region(tx, "west").region_id
            create_reservation(tx, region_id, name="cache", owner="team", spec=spec, now=SystemClock().now())
        return 0

    monkeypatch.setattr(record_request, "count_in_use", guest_comes)  # the last step before the row is locked
    if path == "reservations":
        refused = delete(client, "web")
    else:
        body = {"kind": "delete", "region": "west", "reservation": "web"}
        refused = client.post("/v1/capacity-requests", json=body)
    other.close()
    assert (refused.status_code, refused.json()["code"]) == (409, "has_guests"), refused.text
    assert refused.json()["guests"] == ["cache"]
    assert row_of(client, "web")["status"]["guests"] == [{"name": "cache", "share": 0.25}]


@pytest.mark.usefixtures("web")
@pytest.mark.parametrize("capacity_rru", [8, 1000])
def test_the_finding_of_a_host_follows_a_deleted_guest(
    client: TestClient,
    database: Database,
    assess_all: Callable[[], None],
    solve: Callable[[], None],
    capacity_rru: float,
) -> None:
    granted(client, assess_all, guest())
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 1000 WHERE name = 'cache'"))
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = :rru WHERE name = 'web'"), {"rru": capacity_rru})
    solve()
    assert granted_of(client, "web")["status"] == "False"
    assert delete(client, "cache").status_code == 200
    web, found = row_of(client, "web"), granted_of(client, "web")
    if capacity_rru == 8:
        assert (web["status"]["phase"], found["observed_generation"]) == ("granted", web["generation"])
        assert "cover 8 RRU." in found["message"]
    else:
        assert (web["status"]["phase"], found["observed_generation"]) == ("degraded", web["generation"] - 1)
        assert found["message"].endswith(
            f"web is at generation {web['generation']}: the region's next solve looks again."
        )
    solve()
    again = granted_of(client, "web")
    assert again["observed_generation"] == web["generation"]
    assert "looks again" not in again["message"]


def test_the_finding_of_a_host_that_prefers_few_domains_waits_for_a_solve(
    client: TestClient, assess_all: Callable[[], None], solve: Callable[[], None]
) -> None:
    prefers = {"kind": "msb", "domains_preferred": 1}
    granted(client, assess_all, create(spec={**HOST, "domain_limits": [prefers]}))
    granted(client, assess_all, guest())
    solve()
    before = granted_of(client, "web")["message"]
    assert "and prefers 1." in before
    assert delete(client, "cache").status_code == 200
    assert granted_of(client, "web")["message"].startswith(f"{before} This was so at generation 2")
    solve()
    assert granted_of(client, "web")["message"].endswith("and prefers 1.")


@pytest.mark.usefixtures("web")
@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        (guest(of="wep"), "spec.guest_of", "did you mean web?"),
        (guest(of="cache"), "spec.guest_of", "this reservation itself"),
        (guest(of="shared-buffer-hw-a"), "spec.guest_of", "no reservation is called"),
        (guest() | {"owner": "one"}, "spec.guest_of", "one owner"),
        (guest(share=None), "spec.guest_share", "is required"),
        (guest(share=1), "spec.guest_share", "0.99"),
        (guest(rru={"hw-a": 1, "hw-c": 1}), "spec.rru.hw-c", "hardware type"),
        (guest(of="old", rru={"hw-b": 1}, survives_msb_loss=False), "spec.rru", "old does not use hw-b"),
        (guest(of="old"), "spec.survives_msb_loss", "survives no more than its host"),
        (guest(datacenters=["dc-00"]), "spec.datacenters", "none of its own"),
        (guest(priority=1), "spec.priority", "none of its own"),
        (guest(affinity_follows="web"), "spec.affinity_follows", "none of its own"),
        (guest(msb_share_max=0.5), "spec.msb_share_max", "none of its own"),
        (guest(ends_at="2099-01-01T00:00:00Z"), "spec.ends_at", "none of its own"),
    ],
)
def test_what_cannot_be_a_guest_is_told(client: TestClient, body: dict, field: str, told: str) -> None:
    error = refusal(client, body)
    assert error["field"] == field, error
    assert told in error["message"], error


@pytest.mark.usefixtures("web")
def test_there_are_no_guests_of_guests_and_no_more_than_the_servers(
    client: TestClient, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest(share=0.6))
    assert "is a guest of web itself: name web" in refusal(client, guest("third", of="cache"))["message"]
    error = refusal(client, guest("third", share=0.4))
    assert (error["field"], "0.39 of each server of web is free" in error["message"]) == ("spec.guest_share", True)
    old = {"kind": "resize", "region": "west", "reservation": "old", "spec": {"guest_of": "web", "guest_share": 0.05}}
    assert "cannot change" in refusal(client, old)["message"]


@pytest.mark.usefixtures("web")
@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"rru": {"hw-b": 1}}, "spec.rru"),
        ({"survives_msb_loss": False}, "spec.survives_msb_loss"),
        ({"ends_at": "2099-01-01T00:00:00Z"}, "spec.ends_at"),
        ({"guest_of": "old", "guest_share": 0.5}, "spec.guest_of"),
    ],
)
def test_a_host_keeps_what_its_guests_need(
    client: TestClient, assess_all: Callable[[], None], spec: dict, field: str
) -> None:
    granted(client, assess_all, guest())
    answer = resize(client, "web", spec)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["field"] == field, error


@pytest.mark.usefixtures("web")
def test_two_requests_for_the_same_share_are_not_both_granted(
    client: TestClient, assess_all: Callable[[], None]
) -> None:
    asked = [client.post("/v1/capacity-requests", json=guest(name, share=0.6)) for name in ("cache", "batch")]
    assert [one.status_code for one in asked] == [201, 201]
    assess_all()
    found = [client.get(one.headers["location"]).json()["status"] for one in asked]
    assert [one["phase"] for one in found] == ["granted", "rejected"], found
    assert found[1]["reason"] == "CannotBeGuest"


@pytest.mark.usefixtures("web")
def test_a_guest_whose_host_went_is_refused(client: TestClient, assess_all: Callable[[], None]) -> None:
    asked = client.post("/v1/capacity-requests", json=guest())
    assert delete(client, "web").status_code == 200
    assess_all()
    status = client.get(asked.headers["location"]).json()["status"]
    assert (status["phase"], status["reason"], status["message"]) == (
        "rejected",
        "CannotBeGuest",
        "It cannot be a guest: web is gone. To ask again, name another reservation.",
    )


@pytest.mark.usefixtures("web")
def test_a_guest_never_comes_to_a_host_of_another_owner(client: TestClient, database: Database) -> None:
    asked = client.post("/v1/capacity-requests", json=guest()).json()["capacity_request_id"]
    assert delete(client, "web").status_code == 200
    other = client.post("/v1/capacity-requests", json=create(spec=HOST) | {"owner": "one"}).json()
    for number in (other["capacity_request_id"], asked):
        AssessCapacityRequest(database, SystemClock(), number).reconcile()
    status = client.get(f"/v1/capacity-requests/{asked}").json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "CannotBeGuest")
    assert "web is of one" in status["message"]


@pytest.mark.usefixtures("web")
def test_more_than_the_region_has_is_refused_in_the_name_of_the_guest(
    client: TestClient, assess_all: Callable[[], None]
) -> None:
    status = decided(client, assess_all, guest(capacity_rru=1000))
    assert (status["phase"], status["reason"]) == ("rejected", "BeyondResource"), status
    assert "of 1000 RRU of its guest cache" in status["message"]
    assert status["numbers"]["asked_rru_of_cache"] == 1000


def test_a_dry_run_answers_and_keeps_nothing(client: TestClient, web: dict) -> None:
    answer = client.post("/v1/capacity-requests", params={"dry_run": True}, json=guest())
    assert (answer.status_code, answer.json()["status"]["phase"]) == (200, "granted"), answer.text
    assert row_of(client, "web") == web


@pytest.mark.usefixtures("web")
def test_an_explanation_of_a_guest_tells_of_its_host(
    client: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    cache = granted(client, assess_all, guest())
    found = client.get(f"/v1/reservations/{cache['reservation_id']}/explain").json()
    assert found["summary"].startswith("cache is a guest of web and has 0.25 of each of its servers. Now it holds ")
    assert "guest:" not in str(found)
    of_host = client.get(f"/v1/reservations/{row_of(client, 'web')['reservation_id']}/explain").json()
    [decider] = [one for one in of_host["deciders"] if one["name"] == "Guest"]
    assert decider["subject"] == "cache"
    assert decider["claim"].startswith("If cache were no guest of it")
    servers = read(database).servers
    path = f"/v1/servers/{servers.id[servers.target < 0][0]}/explain"
    to_web, to_cache = (client.get(path, params={"to": name}).json() for name in ("web", "cache"))
    assert to_cache == to_web
    assert "errors" not in to_web


@pytest.mark.usefixtures("web")
def test_lists_sort_and_filter_guests_as_others(
    client: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest())
    arrive(database)
    held = {name: row_of(client, name)["status"]["held_rru"] for name in ("web", "cache", "old", "shared-buffer-hw-a")}
    for order, key in (("held_rru", "held_rru"), ("held_after_msb_loss_rru", "held_after_msb_loss_rru")):
        items = client.get("/v1/reservations", params={"region": "west", "order": order}).json()["items"]
        assert {one["name"]: one["status"]["held_rru"] for one in items} == held
        values = [one["status"][key] for one in items]
        assert values == sorted(values) or values == sorted(values, reverse=True)
    short = client.get("/v1/reservations", params={"region": "west", "short": True}).json()["items"]
    assert "cache" not in [one["name"] for one in short]


@pytest.mark.usefixtures("web")
def test_a_type_that_the_host_dropped_stops_no_resize(
    client: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest(rru={"hw-a": 4, "hw-b": 4}))
    with database.write() as tx:  # as a new version of its class of workload would
        tx.execute(
            sa.text("""DELETE FROM reservation_rru USING reservations AS host, hardware_types AS type
                WHERE host.reservation_id = reservation_rru.reservation_id AND host.name = 'web'
                  AND type.hardware_type_id = reservation_rru.hardware_type_id AND type.name = 'hw-b'""")
        )
    for name, capacity in (("cache", 3), ("web", 7)):
        answer = resize(client, name, {"capacity_rru": capacity})
        assert answer.status_code == 202, answer.text
        assess_all()
        assert row_of(client, name)["spec"]["capacity_rru"] == capacity
    error = refusal(client, guest("third", rru={"hw-b": 1}, share=0.1))
    assert "web does not use hw-b" in error["message"]
