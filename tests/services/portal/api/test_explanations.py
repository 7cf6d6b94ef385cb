"""Test over REST the explanation of a reservation, and the effect of moving one server."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.assignment import Limits
from libs.domain.plan import PlanKind
from libs.domain.principal import Role
from libs.ras.explain import words
from libs.ras.solve import plan_target_bindings
from libs.reconcile.clock import SystemClock
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from services.cli import explain as explain_command
from services.portal import explain_reservation
from services.portal.api.explanation_shapes import CostOut
from tests.builders.stored import read, reservation_id
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import create


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the search for deciders so much time that a busy machine leaves no question open."""
    monkeypatch.setattr(explain_reservation, "EXPLAIN_S_MAX", 600.0)


@pytest.fixture
def web(client: TestClient, database: Database, assess_all: Callable[[], None]) -> int:
    client.post("/v1/capacity-requests", json=create())
    assess_all()
    return reservation_id(read(database), "web")


def test_a_viewer_hears_why(client: TestClient, database: Database, web: int) -> None:
    found = client.get(f"/v1/reservations/{web}/explain", headers=bearer(database, Role.VIEWER, "vera")).json()
    assert found["summary"].startswith("web needs 6 RRU whichever MSB is lost, and its targets give ")
    assert " Now it holds 0 of 6 RRU. The targets give " in found["summary"], "no server has joined yet"
    assert (found["held_rru"], found["held_after_msb_loss_rru"]) == (0, 0)
    assert found["target_rru"] == found["standing"]["total_rru"] >= 6
    assert (found["ready"]["status"], found["ready"]["reason"]) == ("False", "NotThereYet")
    assert sum(holding["servers"] for holding in found["holdings"]) == found["servers"] > 0
    assert found["standing"]["shortfall_rru"] == 0
    named = {(d["name"], d["subject"]): d for d in found["deciders"]}
    assert named["MsbLoss", None]["afresh"]["decides"] is True
    assert named["Supply", "hw-b"]["afresh"]["decides"] is False, "12 of them are free"
    assert found["settled"]
    assert found["last_solve"] is None


def test_only_servers_that_are_usable_now_count_as_free(client: TestClient, database: Database, web: int) -> None:
    def free() -> dict[str, int]:
        types = client.get(f"/v1/reservations/{web}/explain").json()["types"]
        return {use["hardware_type"]: use["free_servers"] for use in types}

    before = free()
    with database.write() as tx:
        names = tx.execute(
            sa.text(
                "SELECT servers.name FROM servers JOIN hardware_types USING (hardware_type_id) WHERE "
                "hardware_types.name = 'hw-b' AND target_reservation_id IS NULL"
            )
        )
        changes = (
            "unavailability = 'planned'",
            "current_reservation_id = (SELECT reservation_id FROM reservations WHERE name = 'old')",
            "in_doubt_reservation_id = (SELECT reservation_id FROM reservations WHERE name = 'old')",
        )
        for name, change in zip(names.scalars().all(), changes, strict=False):
            tx.execute(sa.text(f"UPDATE servers SET {change} WHERE name = :name"), {"name": name})
    assert free() == before | {"hw-b": before["hw-b"] - 3}


def test_what_the_last_solve_did_is_told_whatever_came_after(
    client: TestClient, database: Database, web: int, assess_all: Callable[[], None]
) -> None:
    snapshot = read(database)
    mine = [str(n) for n in snapshot.servers.name[snapshot.servers.target == rows(snapshot, "web")]]
    target = plan_target_bindings(snapshot, Limits()).plan
    taken = target.target.copy()
    taken[snapshot.servers.name == mine[0]] = -1
    plan = type(target)(target=taken, parent_plan_id=snapshot.target_plan_id)
    with database.write() as tx:
        commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=SystemClock().now(), parent=snapshot.target_plan_id)
    client.post("/v1/capacity-requests", json=create("late", {"count": 20, "hardware_types": ["hw-a", "hw-b"]}))
    assess_all()
    last = client.get(f"/v1/reservations/{web}/explain").json()["last_solve"]
    assert (last["gained"], last["lost"]) == (0, 1)
    assert last["after"]["stability"] - last["before"]["stability"] == 1.0
    assert last["after"]["short"] > last["before"]["short"] == 0


def rows(snapshot, name: str) -> int:
    return snapshot.reservations.name.tolist().index(name)


def test_one_server_elsewhere(client: TestClient, database: Database, web: int) -> None:
    snapshot = read(database)
    server = str(snapshot.servers.name[snapshot.servers.target == rows(snapshot, "web")][0])
    path = f"/v1/reservations/{web}/explain"
    [effect] = client.get(path, params={"server": server, "to": "old"}).json()["moves"]
    assert (effect["from_reservation"], effect["to_reservation"]) == ("web", "old")
    assert [one["reservation"] for one in effect["affected"]] == ["web", "old"]
    nearest = client.get(path, params={"server": server}).json()
    assert nearest["moves"][0]["to_reservation"] is None
    assert server in nearest["summary"]


def test_what_cannot_be_explained_is_said_by_field(client: TestClient, database: Database, web: int) -> None:
    path = f"/v1/reservations/{web}/explain"
    for query, field in (
        ({"server": "server-99"}, "server"),
        ({"server": "server-00"}, "server"),
        ({"to": "old"}, "server"),
        ({"server": "server-00", "to": "odl"}, "server"),
    ):
        refused = client.get(path, params=query)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field), query
    assert client.get("/v1/reservations/999/explain").status_code == 404
    client.delete(
        f"/v1/reservations/{web}", headers={"If-Match": client.get(f"/v1/reservations/{web}").headers["etag"]}
    )
    assert client.get(path).json()["code"] == "wrong_phase"


def test_any_server_tells_why_it_is_free_or_taken(client: TestClient, database: Database, web: int) -> None:
    snapshot = read(database)
    here = snapshot.servers.target
    free, mine = (int(snapshot.servers.id[here == row][0]) for row in (-1, rows(snapshot, "web")))

    def why(server_id: int, **query: str) -> dict:
        found = client.get(f"/v1/servers/{server_id}/explain", params=query)
        assert found.status_code == 200, found.text
        return found.json()

    found = why(free)
    assert "in shared-buffer-hw-a would cost 1000 less" in found["summary"], "the next solve fills the buffer"
    assert {one["from_reservation"] for one in found["moves"]} == {None}
    assert "web" in [one["to_reservation"] for one in found["moves"]]
    assert why(free, to="web")["moves"][0]["costs"] >= 0
    of_web = client.get(f"/v1/reservations/{web}/explain", params={"server": name_of(snapshot, mine)}).json()
    assert why(mine) == of_web, "one home for the answer"
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE server_id = :id"), {"id": free})
    assert "stays free, because every other place breaks a rule" in why(free)["summary"]
    assert "it is down" in why(free)["summary"]
    assert client.get(f"/v1/servers/{free}/explain", params={"to": "wbe"}).json()["errors"][0]["field"] == "to"
    assert client.get("/v1/servers/99999/explain").status_code == 404
    with database.write() as tx:
        gone = "UPDATE servers SET decommissioned_at = now() WHERE server_id = :id"
        tx.execute(sa.text(gone), {"id": free})
    left = client.get(f"/v1/servers/{free}/explain")
    assert (left.status_code, left.json()["code"]) == (409, "wrong_phase")
    assert "has left the fleet" in left.json()["detail"]


def test_explanations_have_every_term_of_a_score() -> None:
    assert {*words.TERMS, "stability", "short", "affinity"} <= {*CostOut.model_fields}
    assert {*explain_command._TERMS.values()} <= {*CostOut.model_fields}


def name_of(snapshot, server_id: int) -> str:
    return str(snapshot.servers.name[snapshot.servers.id == server_id][0])
