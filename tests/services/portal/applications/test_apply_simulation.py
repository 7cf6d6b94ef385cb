"""A what-if is applied as simulated, within quotas and limits, and only if its basis has not changed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.approval import ApprovalLimits
from libs.domain.job import JobStatus
from libs.domain.plan import PlanKind
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.capacity.capacity_requests import list_capacity_requests
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.quotas import set_quota
from libs.store.capacity.reservations import create_reservation, load_reservation, update_spec
from libs.store.fleet.policy_rollouts import load_rollout
from libs.store.fleet.regions import load_region
from libs.store.plans.plans import commit_plan, load_plan
from libs.store.plans.simulations import load_simulated_changes
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import list_jobs
from libs.store.regions.rollout_stages import create_rollout
from services.portal.api import applications
from services.portal.apply_simulation import Ground
from tests.builders.race import elsewhere
from tests.builders.stored import plan_of, read, reservation_id, targets
from tests.libs.web.conftest import bearer
from tests.services.solver.what_ifs import ANY, NEW, dump


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
    with database.snapshot() as tx:
        asked = {(job.kind, job.subject) for job in list_jobs(tx, status=JobStatus.QUEUED).items}
    assert asked >= {("move", "west"), ("draw_replacements", "west")}, "as after a solve, servers may be spare now"
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
        (somebody_solved, "its moves would leave fat with less than asked for"),
        (somebody_was_granted, "server-15 of the servers that it binds elsewhere"),
        (somebody_resized, "the reservation fat changed"),
        (changing("UPDATE regions SET policy = policy || '{\"buffer_cost\": 6}'"), "the policy"),
        (
            changing("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-00'"),
            "its moves would leave fat with less than asked for",
        ),
        (
            changing("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-15'"),
            "server-15 of the servers that it binds elsewhere",
        ),
        (
            changing(
                "INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, created_at) "
                "SELECT region_id, 'server', server_id, 'decommission', 'old', now(), now() FROM servers "
                "WHERE name = 'server-15'"
            ),
            "server-15 of the servers that it binds elsewhere",
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
def test_where_what_it_needs_changed_it_is_stale_and_nothing_is_kept(
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


def test_what_others_follow_meanwhile_may_not_follow_another_one(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    found = simulate(create=[{**NEW, "spec": {**NEW["spec"], "affinity_follows": "fat"}}])
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity_follows="new")
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        create_reservation(tx, region_id, name="third", owner="team", spec=spec, now=SystemClock().now())
    before = dump(database)
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_plan")
    assert "third follows new" in refused.json()["detail"]
    assert dump(database) == before


ELSEWHERE = "server_id NOT IN (SELECT server_id FROM simulation_changes)"


def a_solve_elsewhere(tx: Transaction, database: Database) -> None:
    """Another solve heads the lineage now."""
    snapshot, ids = read(database), tx.execute(sa.text(f"SELECT name FROM servers WHERE {ELSEWHERE}")).scalars().all()
    free = next(name for name in ids if targets(snapshot).get(name) == "fat")
    plan = plan_of(snapshot, {free: None})
    commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=SystemClock().now(), parent=plan.parent_plan_id)


def a_grant_elsewhere(tx: Transaction, database: Database) -> None:
    """A new reservation, and its grant."""
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    region_id = load_region(tx, "west").region_id
    made = create_reservation(tx, region_id, name="late", owner="team", spec=spec, now=SystemClock().now())
    bind = f"""UPDATE servers SET target_reservation_id = :id WHERE server_id IN (
                   SELECT server_id FROM servers WHERE target_reservation_id IS NULL AND {ELSEWHERE} LIMIT 1)"""
    assert tx.execute(sa.text(bind), {"id": made}).rowcount == 1


@pytest.mark.parametrize(
    "meanwhile",
    [
        changing(f"UPDATE servers SET in_use = true WHERE current_reservation_id IS NOT NULL AND {ELSEWHERE}"),
        changing(f"UPDATE servers SET current_reservation_id = NULL WHERE {ELSEWHERE}"),
        changing(
            "UPDATE servers SET unavailability = 'unplanned' WHERE server_id = "
            f"(SELECT min(server_id) FROM servers WHERE target_reservation_id IS NOT NULL AND {ELSEWHERE})"
        ),
        a_solve_elsewhere,
        a_grant_elsewhere,
    ],
)
def test_what_happens_elsewhere_does_not_make_it_stale(
    simulate: Callable[..., dict],
    client: TestClient,
    database: Database,
    meanwhile: Callable[[Transaction, Database], None],
) -> None:
    with database.write() as tx:  # fat keeps what it does not need
        tx.execute(sa.text('UPDATE regions SET policy = policy || \'{"move_cost_idle": 50, "buffer_cost": 0}\''))
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 2}])
    with database.write() as tx:
        meanwhile(tx, database)
    applied = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert applied.status_code == 200, applied.json()
    ids = read(database).reservations.id.tolist()
    with database.snapshot() as tx:
        assert not any(one.shortfall_rru for one in load_coverage(tx, ids, "target").values())
        changes = load_simulated_changes(tx, found["simulation_id"])
    after = read(database)
    bound, name_of = targets(after), dict(zip(after.servers.id.tolist(), after.servers.name, strict=True))
    assert changes
    assert all(bound.get(name_of[one.server_id]) == one.to_reservation for one in changes)


def test_a_server_that_changes_while_it_is_applied_is_named(
    simulate: Callable[..., dict], client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The region is read before the locks are taken. A move ends in between."""
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 2}])
    right = applications.load_ground

    def load_ground(tx: Transaction, simulation_id: int, *, now: datetime) -> Ground:
        ground = right(tx, simulation_id, now=now)

        def touch() -> None:
            with database.write() as tx:
                unclean = (
                    "UPDATE servers SET unclean = true WHERE server_id IN (SELECT server_id FROM simulation_changes)"
                )
                tx.execute(sa.text(unclean))

        elsewhere(touch)
        return ground

    monkeypatch.setattr(applications, "load_ground", load_ground)
    before = targets(read(database))
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply")
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_plan")
    assert "server-01, server-02" in refused.json()["detail"]
    assert targets(read(database)) == before


def test_a_promise_that_would_be_shorter_than_simulated_is_not_made(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 1 WHERE name = 'thin'"))
        thin = "(SELECT reservation_id FROM reservations WHERE name = 'thin')"
        servers = "('server-12', 'server-00')"
        tx.execute(sa.text(f"UPDATE servers SET target_reservation_id = {thin} WHERE name IN {servers}"))
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 2}])
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-12'"))
    refused = client.post(f"/v1/simulations/{found['simulation_id']}/apply").json()
    assert refused["code"] == "stale_plan"
    assert "thin would be short of 1 RRU, and the simulation said 0" in refused["detail"]


@pytest.mark.parametrize(
    "event",
    [
        {"lose": [{"scope": "msb", "name": "msb-00"}]},
        {"add_racks": [{"msb": "msb-00", "hardware_type": "hw-a", "servers_per_rack": 1}]},
        {"remove_hardware_types": ["hw-a"]},
        {"withdraw_racks": ["rack-00"]},
        {"power_limits": [{"domain": "msb-00", "limit_w": 5000}]},
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


def limit(database: Database, *, quota_cost_units: float | None = None, **limits: object) -> None:
    with database.write() as tx:
        set_quota(tx, "west", "team", quota_cost_units, generation=0)
        set_approval_limits(tx, load_region(tx, "west").region_id, ApprovalLimits(**limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what_if", "refused"),
    [
        ({"demand": [{"reservation": "thin", "capacity_rru": 7}]}, False),
        ({"demand": [{"reservation": "thin", "capacity_rru": 7.5}]}, True),
        ({"create": [NEW], "demand": [{"reservation": "thin", "capacity_rru": 6.5}]}, True),
        ({"create": [NEW], "demand": [{"reservation": "thin", "capacity_rru": 5}]}, False),
    ],
)
def test_a_quota_holds_when_it_is_applied(
    simulate: Callable[..., dict], client: TestClient, database: Database, what_if: dict, refused: bool
) -> None:
    limit(database, quota_cost_units=22)  # of these, 12 are in use by fat, and thin may hold 8
    path = f"/v1/simulations/{simulate(**what_if)['simulation_id']}/apply"
    before = dump(database)
    answer = client.post(path, params={"reason": "more"})
    assert answer.status_code == (409 if refused else 200)
    if refused:
        assert answer.json()["code"] == "quota_exceeded"
        assert "20 are in use" in answer.json()["detail"]
        assert dump(database) == before


@pytest.mark.parametrize("limits", [{"size_cost_units": 6}, {"hardware_share": 0.5}])
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


def test_ten_who_apply_at_once_leave_connections_for_everybody_else(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    """Ten clients for as many connections. A client that needed a second one would get 503."""
    path = f"/v1/simulations/{simulate(demand=[{'reservation': 'thin', 'capacity_rru': 4}])['simulation_id']}/apply"
    with ThreadPoolExecutor(11) as threads:
        applying = [threads.submit(client.post, path) for _ in range(10)]
        reading = [threads.submit(client.get, "/v1/simulations") for _ in range(20)]
        applied = sorted(one.result().status_code for one in applying)
        assert {one.result().status_code for one in reading} == {200}
    assert applied == [200] + [409] * 9


def test_a_policy_says_which_roll_out_it_ends(
    simulate: Callable[..., dict], client: TestClient, database: Database
) -> None:
    with database.write() as tx:
        rollout = create_rollout(
            tx, load_region(tx, "west"), {"buffer_cost": 8.0}, actor="olga", reason="test", now=SystemClock().now()
        ).policy_rollout_id
        set_approval_limits(tx, load_region(tx, "west").region_id, ApprovalLimits(policy_prices=True))
    demand = [{"reservation": "thin", "capacity_rru": 4}]
    assert simulate(demand=demand)["ends_rollout_id"] is None
    assert simulate(policy={"move_cost_idle": 1})["ends_rollout_id"] is None, "the region has this price already"
    found = simulate(policy={"move_cost_idle": 0.5})
    assert found["ends_rollout_id"] == rollout
    path = f"/v1/simulations/{found['simulation_id']}"
    refused = client.post(f"{path}/apply").json()
    assert (refused["code"], "it would end roll-out" in refused["detail"]) == ("needs_approval", True)
    applied = client.post(f"{path}/apply", params={"reason": "agreed"}).json()
    assert applied["ends_rollout_id"] == client.get(path).json()["ends_rollout_id"] == rollout
    with database.snapshot() as tx:
        assert load_rollout(tx, rollout).stage == "superseded"
        *_, entry = list_entries(tx, subject_kind="simulation").items
    assert entry.after is not None
    assert [cause["reason"] for cause in entry.after["causes"]] == ["PolicyPrice", "EndsRollout"]
    [listed] = client.get("/v1/simulations?limit=1").json()["items"]
    assert listed["ends_rollout_id"] == rollout
