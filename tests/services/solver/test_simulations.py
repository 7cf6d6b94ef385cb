"""What-ifs over REST: they change nothing, say what would differ, and are applied only if nothing has moved."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.approval import ApprovalLimits
from libs.domain.plan import PlanKind
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import ImpossibleWhatIf
from libs.interchange.bundle import load_bundle
from libs.ras.phases import plan_target_bindings
from libs.reconcile.clock import SystemClock
from libs.store.approval_limits import set_approval_limits
from libs.store.audit import list_entries
from libs.store.capacity_requests import list_capacity_requests
from libs.store.database import Database, Transaction
from libs.store.plans import commit_plan, load_plan
from libs.store.quotas import set_quota
from libs.store.regions import load_region
from libs.store.reservations import create_reservation, load_reservation, update_spec
from libs.store.tables import metadata
from libs.web.app import create_app
from services.solver.api import ROUTERS
from services.solver.reconcilers.bindings_solve import BindingsSolve
from services.solver.reconcilers.simulation_run import SimulationRun
from services.solver.settings import SolverSettings
from tests.builders.stored import plan_of, read, reservation_id, targets
from tests.libs.web.conftest import bearer

OWN = {"simulations", "simulation_changes", "jobs", "idempotency_keys", "tokens"}
ANY = {"scale": 1.5}
NEW = {"name": "new", "owner": "team", "spec": {"count": 2, "hardware_types": ["hw-a"], "survives_msb_loss": False}}


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    app = create_app(title="Solver", version="1", database=database, clock=SystemClock(), routers=ROUTERS)
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@pytest.fixture
def simulate(client: TestClient, database: Database, settings: SolverSettings) -> Callable[..., dict]:
    def run(**what_if: object) -> dict:
        asked = client.post("/v1/simulations", json={"region": "west", **what_if})
        assert asked.status_code == 202, asked.json()
        assert asked.json()["status"] == "queued"
        SimulationRun(database, SystemClock(), settings, asked.json()["simulation_id"]).reconcile()
        return client.get(asked.headers["Location"]).json()

    return run


def dump(database: Database) -> dict[str, list]:
    """Every row of every table but a simulation's own."""
    with database.snapshot() as tx:
        return {
            table.name: sorted(map(repr, tx.execute(sa.select(table)).all()))
            for table in metadata.sorted_tables
            if table.name not in OWN
        }


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


def test_a_page_of_simulations_leaves_out_what_each_says_of_reservations(
    simulate: Callable[..., dict], client: TestClient
) -> None:
    alone = simulate(demand=[{"reservation": "thin", "scale": 1.5}])
    (listed,) = client.get("/v1/simulations").json()["items"]
    assert alone["report"].pop("reservations")
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
    again = plan_target_bindings(bundle.region.snapshot, seed=bundle.seed)
    assert again.report.score.total == pytest.approx(found["report"]["cost"]["after"]["total"])


def test_decisions_are_applied_as_simulated(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 4}], create=[NEW], policy={"move_cost_idle": 0.5})
    assert found["applicable"]
    path = f"/v1/simulations/{found['simulation_id']}/apply"
    applied = client.post(path)
    assert applied.status_code == 200, applied.json()
    done, after = applied.json(), read(database)
    assert (done["applied_plan_id"], done["applied_by"]) == (after.target_plan_id, "olga")
    with database.snapshot() as tx:
        plan = load_plan(tx, done["applied_plan_id"])
        requests = list_capacity_requests(tx, limit=10).items
        made = load_reservation(tx, reservation_id(after, "new"))
    assert (plan.kind, plan.left_alone) == (PlanKind.SOLVE, 0)
    assert {(r.kind.value, r.reservation_name, r.phase.value, r.requested_by) for r in requests} == {
        ("create", "new", "granted", "olga"),
        ("resize", "thin", "granted", "olga"),
    }
    assert made.finding is not None
    assert made.finding.phase.value == "granted"
    assert after.policy.move_cost_idle == 0.5
    bound = dict(zip(*np.unique(list(targets(after).values()), return_counts=True), strict=True))
    wanted = {row["reservation"]: row["total_rru_after"] for row in found["report"]["reservations"]}
    assert {name: bound[name] for name in wanted} == wanted
    again = client.post(path)
    assert (again.status_code, again.json()["code"]) == (409, "wrong_phase")


def somebody_solved(tx: Transaction, database: Database) -> None:
    snapshot = read(database)
    plan = plan_of(snapshot, {"server-00": None})
    commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=SystemClock().now(), parent=plan.parent_plan_id)


def somebody_was_granted(tx: Transaction, database: Database) -> None:
    snapshot = read(database)
    plan = plan_of(snapshot, {"server-15": "fat"})
    commit_plan(tx, snapshot, plan, kind=PlanKind.GRANT, now=SystemClock().now(), parent=plan.parent_plan_id)


def somebody_resized(tx: Transaction, database: Database) -> None:
    fat = load_reservation(tx, reservation_id(read(database), "fat"))
    update_spec(tx, fat.reservation_id, replace(fat.spec, capacity_rru=2.0), generation=fat.generation)


def changing(statement: str) -> Callable[[Transaction, Database], None]:
    def change(tx: Transaction, database: Database) -> None:
        assert tx.execute(sa.text(statement)).rowcount > 0

    return change


@pytest.mark.parametrize(
    ("meanwhile", "what"),
    [
        (somebody_solved, "the plan"),
        (somebody_was_granted, "the targets"),
        (somebody_resized, "the reservations"),
        (changing("UPDATE regions SET policy = policy || '{\"buffer_cost\": 6}'"), "the policy"),
        (changing("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-00'"), "the availability"),
        (
            changing(
                "INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, created_at) "
                "SELECT region_id, 'server', server_id, 'decommission', 'old', now(), now() FROM servers "
                "WHERE name = 'server-15'"
            ),
            "the retirements",
        ),
        (
            changing(
                "UPDATE servers SET in_use = true WHERE server_id IN (SELECT server_id FROM simulation_changes) "
                "AND current_reservation_id IS NOT NULL"
            ),
            "servers that it binds elsewhere",
        ),
    ],
)
def test_where_anything_moved_it_is_stale_and_nothing_is_kept(
    simulate: Callable[..., dict],
    client: TestClient,
    database: Database,
    meanwhile: Callable[[Transaction, Database], None],
    what: str,
) -> None:
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 7}])
    with database.write() as tx:
        meanwhile(tx, database)
    before = dump(database)
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_plan")
    assert what in refused.json()["detail"]
    assert dump(database) == before


def test_moves_that_go_on_elsewhere_do_not_make_it_stale(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 7}])
    with database.write() as tx:
        elsewhere = "UPDATE servers SET in_use = true WHERE current_reservation_id IS NOT NULL AND server_id NOT IN "
        tx.execute(sa.text(elsewhere + "(SELECT server_id FROM simulation_changes)"))
    assert client.post(f"/v1/simulations/{found['simulation_id']}/apply").status_code == 200


@pytest.mark.parametrize(
    "event",
    [
        {"lose": [{"scope": "msb", "name": "msb-00"}]},
        {"add_racks": [{"msb": "msb-00", "hardware_type": "hw-a", "servers_per_rack": 1}]},
        {"remove_hardware_types": ["hw-a"]},
        {"withdraw_racks": ["rack-00"]},
    ],
)
def test_an_event_cannot_be_applied(simulate: Callable[..., dict], client: TestClient, event: dict) -> None:
    found = simulate(demand=[ANY], **event)
    assert not found["applicable"]
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply").json()
    assert (refused["code"], [e["field"] for e in refused["errors"]]) == (
        "not_a_decision",
        [f"what_if.{next(iter(event))}"],
    )


def test_what_no_state_of_the_region_could_meet_is_not_applied(
    simulate: Callable[..., dict], client: TestClient
) -> None:
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 100}])
    assert found["report"]["refused"][0]["reason"] == "BeyondRegion"
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply").json()
    assert refused["code"] == "not_a_decision"
    assert "thin (BeyondRegion)" in refused["detail"]


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
        ({"lose": [{"scope": "planet", "name": "x"}]}, "lose.0.scope"),
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
        ({"create": [NEW | {"spec": NEW["spec"] | {"starts_at": "2027-01-01T00:00:00Z"}}]}, "create[0].spec.starts_at"),
        ({"create": [NEW | {"spec": NEW["spec"] | {"ends_at": "2027-01-01T00:00:00Z"}}]}, "create[0].spec.ends_at"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, body: dict, field: str) -> None:
    refused = client.post("/v1/simulations", json={"region": "west", **body})
    assert refused.status_code == 422
    assert field in [error["field"] for error in refused.json()["errors"]]


def limit(database: Database, *, quota_rru: float | None = None, **limits: object) -> None:
    with database.write() as tx:
        set_quota(tx, "west", "team", quota_rru, generation=0)
        set_approval_limits(tx, load_region(tx, "west").region_id, ApprovalLimits(**limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what_if", "refused"),
    [
        ({"demand": [{"reservation": "thin", "capacity_rru": 7}]}, False),
        ({"demand": [{"reservation": "thin", "capacity_rru": 7.5}]}, True),
        ({"create": [NEW]}, True),
        ({"create": [NEW], "demand": [{"reservation": "thin", "capacity_rru": 5}]}, False),
    ],
)
def test_a_quota_holds_when_it_is_applied(
    simulate: Callable[..., dict], client: TestClient, database: Database, what_if: dict, refused: bool
) -> None:
    limit(database, quota_rru=10)  # of which 9 are in use
    path = f"/v1/simulations/{simulate(**what_if)['simulation_id']}/apply"
    before = dump(database)
    answer = client.post(path, params={"reason": "more"})
    assert answer.status_code == (409 if refused else 200)
    if refused:
        assert answer.json()["code"] == "quota_exceeded"
        assert "9 are in use" in answer.json()["detail"]
        assert dump(database) == before


@pytest.mark.parametrize("limits", [{"size_rru": 6}, {"hardware_share": 0.5}])
def test_above_a_limit_it_is_an_approval(
    simulate: Callable[..., dict], client: TestClient, database: Database, limits: dict
) -> None:
    limit(database, four_eyes=True, **limits)
    small = simulate(demand=[{"reservation": "fat", "capacity_rru": 2}])
    assert client.post(f"/v1/simulations/{small['simulation_id']}/apply").status_code == 200
    path = f"/v1/simulations/{simulate(demand=[{'reservation': 'thin', 'capacity_rru': 7}])['simulation_id']}/apply"
    before = dump(database)
    own = client.post(path, params={"reason": "I want it"})
    assert (own.status_code, own.json()["code"]) == (403, "four_eyes")
    other = bearer(database, Role.OPERATOR, "otto")
    silent = client.post(path, headers=other)
    assert (silent.status_code, silent.json()["code"]) == (409, "needs_approval")
    assert "that need no approval" in silent.json()["detail"] or "that needs no approval" in silent.json()["detail"]
    assert dump(database) == before
    assert client.post(path, headers=other, params={"reason": "agreed in the review"}).status_code == 200
    with database.snapshot() as tx:
        *_, entry = list_entries(tx, subject_kind="simulation").items
        request = list_capacity_requests(tx, reservation="thin").items[0]
    assert (entry.actor, entry.reason, request.given_reason) == ("otto", "agreed in the review", "agreed in the review")
    assert entry.after is not None
    assert len(entry.after["causes"]) == 1


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
        ({"demand": [{"scale": 1000}] * 5}, "demand[3]: a capacity must be above 0 and at most 1e+12 RRU"),
        ({"demand": [{"scale": 1e-200}] * 2}, "demand[1]: a capacity must be above 0"),
    ],
)
def test_what_no_region_can_be_fails_and_says_why(
    client: TestClient, database: Database, settings: SolverSettings, what_if: dict, said: str
) -> None:
    number = client.post("/v1/simulations", json={"region": "west", **what_if}).json()["simulation_id"]
    put(database, "new")
    with pytest.raises(ImpossibleWhatIf):
        SimulationRun(database, SystemClock(), settings, number).reconcile()
    found = client.get(f"/v1/simulations/{number}").json()
    assert found["status"] == "failed"
    assert said in found["error"]
    assert client.post(f"/v1/simulations/{number}/apply").json()["code"] == "wrong_phase"


def test_one_that_has_not_begun_has_no_demand_yet(
    client: TestClient, database: Database, simulate: Callable[..., dict]
) -> None:
    put(database, "later", scheduled=True)
    refused = client.post("/v1/simulations", json={"region": "west", "demand": [{"reservation": "later", **ANY}]})
    assert refused.status_code == 422
    assert [e["field"] for e in refused.json()["errors"]] == ["demand[0].reservation"]
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
    assert SimulationRun(database, SystemClock(), settings, number).reconcile() == "cancelled"
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
    simulate: Callable[..., dict], solver: Callable[[], BindingsSolve], database: Database
) -> None:
    simulate(demand=[ANY])
    assert solver().reconcile() == "committed"
