"""Simulations over REST change nothing, and report the differences."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import ImpossibleWhatIf
from libs.domain.words import moment
from libs.interchange.bundles.solve import load_bundle
from libs.ras.solve import plan_target_bindings
from libs.reconcile.clock import SystemClock
from libs.store.capacity.reservations import create_reservation, find_reservation
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.solver.reconcilers.run_simulation import RunSimulation
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.libs.web.conftest import bearer
from tests.services.solver.what_ifs import ANY, NEW, dump


@pytest.mark.parametrize(
    ("what_if", "name", "field", "value"),
    [
        ({"demand": [{"reservation": "thin", "scale": 1.5}]}, "thin", "capacity_rru", 9.0),
        ({"demand": [{"owner": "team", "scale": 0.5}]}, "fat", "capacity_rru", 1.5),
        ({"demand": [{"reservation": "thin", "capacity_rru": 100}]}, "thin", "short_rru_after", 91.0),
        ({"lose": [{"scope": "msb", "name": "msb-03"}]}, "thin", "short_rru_now", 6.0),
        ({"lose": [{"scope": "datacenter", "name": "dc-00"}]}, "fat", "short_rru_after", 3.0),
        ({"withdraw_racks": ["rack-00"]}, "fat", "short_rru_after", 0.0),
        ({"remove_hardware_types": ["hw-a"]}, "thin", "short_rru_after", 6.0),
        ({"policy": {"move_cost_idle": 0}}, "thin", "short_rru_after", 0.0),
    ],
)
def test_it_says_the_difference_and_changes_nothing(
    simulate: Callable[..., dict], database: Database, what_if: dict, name: str, field: str, value: float
) -> None:
    before = dump(database)
    found = simulate(**what_if)
    assert dump(database) == before
    assert (found["status"], found["error"]) == ("done", None)
    row = {row["reservation"]: row for row in found["report"]["reservations"]}[name]
    assert row[field] == pytest.approx(value)
    assert found["report"]["cost"]["now"]["shortfall_rru"] == 6.0
    assert found["report"]["solve"]["stopped_by"] == "finished"
    assert found["report"]["waves"]["faults"] == []


def test_a_page_of_simulations_leaves_out_what_each_says_of_reservations(
    simulate: Callable[..., dict], client: TestClient
) -> None:
    alone = simulate(demand=[{"reservation": "thin", "scale": 1.5}])
    (listed,) = client.get("/v1/simulations").json()["items"]
    assert alone["report"].pop("reservations")
    assert (alone["report"].pop("power"), alone["report"].pop("short_of")) == ([], {})
    assert alone["report"]["waves"].pop("reservations")
    assert listed == alone


def test_new_racks_are_used(simulate: Callable[..., dict], database: Database) -> None:
    before = dump(database)
    demand = [{"reservation": "thin", "capacity_rru": 16}]
    short = simulate(demand=demand)["report"]
    racks = [{"msb": f"msb-0{m}", "hardware_type": "hw-a", "servers_per_rack": 4, "racks": 2} for m in range(4)]
    more = simulate(demand=demand, add_racks=racks)["report"]
    assert short["cost"]["after"]["shortfall_rru"] > more["cost"]["after"]["shortfall_rru"] == 0
    [hw] = more["hardware_types"]
    assert hw["bound_after"] + hw["free_after"] == hw["bound_now"] + hw["free_now"] + 32
    assert dump(database) == before


def test_its_bundle_solves_to_the_same_answer(simulate: Callable[..., dict]) -> None:
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 7}])
    bundle = load_bundle(Path(found["bundle"]))
    assert bundle.what_if == found["what_if"]
    again = plan_target_bindings(bundle.region.snapshot, seed=bundle.seed)
    assert again.report.score.total == pytest.approx(found["report"]["cost"]["after"]["total"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "demand"),
        ({"demand": [{}]}, "demand[0].scale"),
        ({"demand": [{"capacity_rru": 3}]}, "demand[0].capacity_rru"),
        ({"demand": [{"reservation": "thick", **ANY}]}, "demand[0].reservation"),
        ({"demand": [{"owner": "nobody", **ANY}]}, "demand[0].owner"),
        ({"demand": [{"owner": "team", "reservation": "thin", **ANY}]}, "demand[0].owner"),
        ({"lose": [{"scope": "msb", "name": "msb-99"}]}, "lose[0].name"),
        ({"lose": [{"scope": "planet", "name": "x"}]}, "lose[0].scope"),
        ({"withdraw_racks": ["rack-99"]}, "withdraw_racks[0]"),
        ({"remove_hardware_types": ["hw-z"]}, "remove_hardware_types[0]"),
        (
            {"add_racks": [{"msb": "msb-00", "hardware_type": "hw-z", "servers_per_rack": 1}]},
            "add_racks[0].hardware_type",
        ),
        (
            {"add_racks": [{"msb": "msb-00", "hardware_type": "hw-a", "servers_per_rack": 1000, "racks": 21}]},
            "add_racks",
        ),
        ({"policy": {"shared_buffer_share": 0.1}}, "policy.shared_buffer_share"),
        (
            {"create": [{"name": "fat", "owner": "t", "spec": {"count": 1, "hardware_types": ["hw-a"]}}]},
            "create[0].name",
        ),
        ({"create": [{"name": "n", "owner": "t", "spec": {"count": 1}}]}, "create[0].spec.hardware_types"),
        ({"create": [NEW | {"spec": NEW["spec"] | {"hardware_types": ["hw-z"]}}]}, "create[0].spec.hardware_types"),
        ({"create": [NEW | {"spec": NEW["spec"] | {"datacenters": ["dc-99"]}}]}, "create[0].spec.datacenters"),
        (
            {"create": [NEW | {"spec": NEW["spec"] | {"domain_limits": [{"kind": "row", "domains_max": 1}]}}]},
            "create[0].spec.domain_limits",
        ),
        ({"create": [NEW | {"spec": NEW["spec"] | {"starts_at": "2027-01-01T00:00:00Z"}}]}, "create[0].spec.starts_at"),
        ({"create": [NEW | {"spec": NEW["spec"] | {"ends_at": "2027-01-01T00:00:00Z"}}]}, "create[0].spec.ends_at"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, body: dict, field: str) -> None:
    refused = client.post("/v1/simulations", json={"region": "west", **body})
    assert refused.status_code == 422
    assert field in [error["field"] for error in refused.json()["errors"]]


@pytest.mark.parametrize("path", ["/v1/simulations", "/v1/solve-runs"])
def test_a_list_of_an_unknown_region_is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path, params={"region": "wset"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def put(database: Database, name: str, *, scheduled: bool = False) -> None:
    now = SystemClock().now()
    starts_at = now + timedelta(days=1) if scheduled else None
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, starts_at=starts_at)
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        create_reservation(tx, region_id, name=name, owner="other", spec=spec, now=now, scheduled=scheduled)


@pytest.mark.parametrize(
    ("what_if", "said"),
    [
        ({"create": [NEW]}, "create[0].name: there is a reservation new by now"),
        ({"demand": [{"scale": 1000}] * 5}, "demand[3]: a capacity must be from 1e-06 to 1e+12 RRU"),
        ({"demand": [{"scale": 1e-200}] * 2}, "demand[0]: a capacity must be from 1e-06"),
    ],
)
def test_what_no_region_can_be_fails_and_says_why(
    client: TestClient, database: Database, settings: SolverSettings, what_if: dict, said: str
) -> None:
    number = client.post("/v1/simulations", json={"region": "west", **what_if}).json()["simulation_id"]
    put(database, "new")
    with pytest.raises(ImpossibleWhatIf):
        RunSimulation(database, SystemClock(), settings, number).reconcile()
    found = client.get(f"/v1/simulations/{number}").json()
    assert found["status"] == "failed"
    assert said in found["error"]
    assert client.post(f"/v1/simulations/{number}/apply").json()["code"] == "wrong_phase"


def test_one_that_failed_does_not_break_the_list(
    client: TestClient, database: Database, settings: SolverSettings
) -> None:
    body = {"region": "west", "demand": [{"scale": 1000}] * 5}
    for _ in range(2):
        number = client.post("/v1/simulations", json=body).json()["simulation_id"]
        with pytest.raises(ImpossibleWhatIf):
            RunSimulation(database, SystemClock(), settings, number).reconcile()
    with database.write() as tx:  # as versions up to 0.1 stored it
        tx.execute(sa.text("UPDATE simulations SET report = 'null' WHERE simulation_id = :one"), {"one": number})
    listed = client.get("/v1/simulations", params={"region": "west"})
    assert listed.status_code == 200
    assert [(one["status"], one["report"]) for one in listed.json()["items"]] == [("failed", None)] * 2


def test_one_that_has_not_begun_has_no_demand_yet(
    client: TestClient, database: Database, simulate: Callable[..., dict]
) -> None:
    put(database, "later", scheduled=True)
    traffic = [{"reservation": "later", "gbit_per_rru": 1}]
    body = {"region": "west", "demand": [{"reservation": "later", **ANY}], "traffic": traffic}
    refused = client.post("/v1/simulations", json=body)
    assert refused.status_code == 422
    errors = refused.json()["errors"]
    assert [(e["field"], e["code"]) for e in errors] == [
        ("demand[0].reservation", "not_begun"),
        ("traffic[0].reservation", "not_begun"),
    ]
    with database.snapshot() as tx:
        starts_at = find_reservation(tx, "west", "later").spec.starts_at
    assert errors[0]["message"].startswith(f"later has not begun, and begins at {moment(starts_at)}: ")
    assert "later" not in [row["reservation"] for row in simulate(demand=[ANY])["report"]["reservations"]]


def test_only_operators_simulate_and_apply(client: TestClient, database: Database) -> None:
    requester = bearer(database, Role.REQUESTER, "rita")
    for path in ("/v1/simulations", "/v1/simulations/1/apply", "/v1/simulations/1/cancel"):
        assert client.post(path, json={"region": "west", "demand": [ANY]}, headers=requester).status_code == 403
    assert client.get("/v1/simulations", headers=bearer(database, Role.VIEWER, "vera")).json()["items"] == []


def test_one_that_waits_is_cancelled_and_never_runs(
    client: TestClient, database: Database, settings: SolverSettings
) -> None:
    number = client.post("/v1/simulations", json={"region": "west", "demand": [ANY]}).json()["simulation_id"]
    assert client.post(f"/v1/simulations/{number}/cancel").json()["status"] == "cancelled"
    assert RunSimulation(database, SystemClock(), settings, number).reconcile() == "cancelled"
    assert client.get(f"/v1/simulations/{number}").json()["report"] is None
    assert client.post(f"/v1/simulations/{number}/cancel").json()["code"] == "wrong_phase"
    assert client.post(f"/v1/simulations/{number}/apply").json()["code"] == "wrong_phase"


def test_one_whose_workers_died_for_good_is_cancelled_at_once(client: TestClient, database: Database) -> None:
    path = client.post("/v1/simulations", json={"region": "west", "demand": [ANY]}).headers["Location"]
    with database.write() as tx:
        tx.execute(sa.text("UPDATE simulations SET status = 'running', started_at = now()"))
    assert client.post(f"{path}/cancel").json()["status"] == "running"
    with database.write() as tx:
        tx.execute(sa.text("UPDATE jobs SET status = 'failed', finished_at = now()"))
    assert client.post(f"{path}/cancel").json()["status"] == "cancelled"


def test_a_simulation_does_not_disturb_the_next_solve(
    simulate: Callable[..., dict], solver: Callable[[], SolveBindings], database: Database
) -> None:
    simulate(demand=[ANY])
    assert solver().reconcile() == "committed"
