"""Plan runs go from inputs over REST and measurements to the same plan as offline."""

import json
import zipfile
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.plan_run import PlanRunStatus
from libs.interchange.traces.intake import Intake, Rows
from libs.store.planner.executed_changes import record_executed
from libs.store.planner.placement_plans import load_target_plan_id
from libs.store.planner.plan_runs import take_plan_run
from libs.store.platform.jobs import list_jobs
from libs.store.telemetry.span_batches import put_spans
from services.cli.flux.offline import make_models, make_plan
from tests.builders.measured import measure_world
from tests.builders.planning_inputs import put, put_world
from tests.builders.world import COST
from tests.services.planner.conftest import DAY_ZERO, FixedClock, look


def test_the_plan_is_the_one_that_is_made_offline(client, planner, ask, world):
    put_world(client, world)
    run = ask(reason="first")
    assert look(client, run)["status"] == "queued"
    assert planner().reconcile() is PlanRunStatus.DONE
    found = look(client, run)
    assert (found["status"], found["input_versions"]["supply"], found["requested_by"]) == ("done", 1, "tester")
    assert found["window_start"] == "2026-11-02T00:00:00Z"
    offline = make_plan(world)
    plan = client.get(f"/v1/placement-plans/{found['placement_plan_id']}").json()
    assert (plan["target"], plan["committed"], plan["parent_placement_plan_id"]) == (True, True, None)
    assert plan["summary"]["objective"] == pytest.approx(offline.solved.solution.objective, rel=1e-9)
    capacity = offline.solved.plan.capacity
    for t, step in enumerate(plan["steps"]):
        for s, service in enumerate(offline.words.services):
            assert list(step["capacity"][service].values()) == pytest.approx(capacity[t, s], rel=1e-6, abs=1e-9)
    models = {one["service"]: one for one in client.get("/v1/service-models").json()["items"]}
    assert models["store"]["document"]["attribution"]["shop"] == pytest.approx(1 / 3, abs=0.02)
    assert client.get("/v1/service-models", params={"confidence": "low"}).json()["items"] == []


def test_spans_that_wait_to_be_summed_are_told(client, planner, ask, world, database):
    put_world(client, world)
    with database.write() as tx:
        put_spans(tx, Rows(Intake(gateways={})).spans())
        tx.execute(sa.text("UPDATE span_batches SET spans = 7"))
    run = ask()
    planner().reconcile()
    assert look(client, run)["report"]["unsummed"] == 7


def test_it_can_be_planned_again_from_its_bundle(client, planner, ask, world):
    put_world(client, world)
    made = client.post("/v1/plan-overrides", json=override(most=0.3)).json()
    run = look(client, ask())
    planner().reconcile()
    run = look(client, run["plan_run_id"])
    plan = client.get(f"/v1/placement-plans/{run['placement_plan_id']}").json()
    assert plan["overrides"] == [{"plan_override_id": made["plan_override_id"], "reason": "network"}]
    again = make_plan(type(world)(run["bundle"]))
    assert again.solved.solution.objective == pytest.approx(plan["summary"]["objective"], rel=1e-12)
    assert np.array_equal(again.models.attribution, make_models(type(world)(run["bundle"])).models.attribution)


def test_vast_measurements_leave_their_models_in_the_bundle(client, planner, ask, world, monkeypatch):
    monkeypatch.setattr("services.planner.snapshot.MEASURED_CELLS_MAX", 10)
    put_world(client, world)
    run = ask()
    planner().reconcile()
    run = look(client, run)
    with zipfile.ZipFile(run["bundle"]) as archive:
        assert {"model.json"} == set(archive.namelist()) & {"model.json", "usage.parquet", "demand.parquet"}
    again = make_plan(type(world)(run["bundle"]))
    assert again.solved.solution.objective == pytest.approx(run["report"]["plan"]["objective"], rel=1e-9)


def test_growth_of_traffic_is_compared_with_the_length_of_a_step(client, planner, ask, world):
    put_world(client, world)
    put(client, "traffic_growth", [{"step": 1, "product": "feed", "growth": 0.3}])
    slow = [{"service": name, "hardware_type": "compute", "lead_time_h": 200.0} for name in COST]
    put(client, "services", slow)
    run = ask()
    planner().reconcile()
    (one,) = look(client, run)["report"]["plan"]["traffic_growth"]
    assert (one["product"], one["late"]) == ("feed", True)
    assert one["ready_h"] > 200.0


def test_what_a_person_reviews_is_there(client, planner, ask, world):
    put_world(client, world)
    ask()
    planner().reconcile()
    [plan] = client.get("/v1/placement-plans").json()["items"]
    url = f"/v1/placement-plans/{plan['placement_plan_id']}"
    changes = client.get(f"{url}/changes", params={"service": "store"}).json()
    assert changes["changes"]
    assert {one["service"] for one in changes["changes"]} == {"store"}
    assert {"product", "pulled_by"} <= changes["changes"][0]["because"][0].keys()
    dag = client.get(f"{url}/dag").json()
    assert {node["id"] for node in dag["nodes"]} >= {end for edge in dag["edges"] for end in edge}
    for name in ("presence", "pools", "residuals", "models"):
        picture = client.get(f"{url}/pictures/{name}.svg")
        assert picture.headers["content-type"].startswith("image/svg+xml")
        assert picture.text.startswith("<svg")
    assert client.get(f"{url}/pictures/other.svg").status_code == 404
    assert client.get("/v1/placement-plans/99/changes").status_code == 404


def test_load_tests_make_it_outlast_the_loss_of_a_region(client, planner, ask, world):
    put_world(client, world)
    point = {"service": "store", "region": "west", "hardware_type": "compute", "capacity": 1.0}
    rows = [point | {"throughput": 50.0 * n, "utilisation": 0.1 * n, "utilisation_max": 0.8} for n in range(1, 9)]
    assert put(client, "load_tests", rows).status_code == 200
    ask()
    planner().reconcile()
    [plan] = client.get("/v1/placement-plans").json()["items"]
    losses = client.get(f"/v1/placement-plans/{plan['placement_plan_id']}/region-losses").json()
    assert losses["services"]["store"]["used"] is True
    assert {(one["service"], one["lost"] != one["region"]) for one in losses["places"]} == {("store", True)}
    assert all(one["lacking"] == 0 for one in losses["places"])


def test_plans_follow_each_other_and_a_dry_run_moves_nothing(client, planner, ask, world, database):
    put_world(client, world)
    ask()
    planner().reconcile()
    first = client.get("/v1/placement-plans").json()["items"][0]
    ask(dry_run=True)
    planner().reconcile()
    looked_at = client.get("/v1/placement-plans").json()["items"][0]
    assert (looked_at["committed"], looked_at["target"]) == (False, False)
    assert looked_at["parent_placement_plan_id"] == first["placement_plan_id"]
    ask()
    planner().reconcile()
    last = client.get("/v1/placement-plans").json()["items"][0]
    assert (last["target"], last["parent_placement_plan_id"]) == (True, first["placement_plan_id"])
    with database.snapshot() as tx:
        assert load_target_plan_id(tx) == last["placement_plan_id"]
    old = client.get(f"/v1/placement-plans/{first['placement_plan_id']}/dag")
    assert old.status_code == 404, "two plans keep their documents"
    assert len(client.get("/v1/placement-plans").json()["items"]) == 3
    runs = [client.get("/v1/service-models", params={"plan_run_id": n}).json()["items"] for n in (1, 2, 3)]
    assert [bool(one) for one in runs] == [False, True, True]


def test_a_run_reads_what_it_pinned_when_it_began(client, planner, ask, world, database):
    put_world(client, world)
    run = ask()
    noon = FixedClock().now()
    with database.write() as tx:  # a worker that takes it and dies
        window = DAY_ZERO, DAY_ZERO + timedelta(days=2)
        assert take_plan_run(tx, window=window, now=noon).attempts == 1
    put(client, "traffic_growth", [{"step": 2, "product": "feed", "growth": 0.5}])
    assert planner().reconcile() is PlanRunStatus.DONE
    found = look(client, run)
    assert (found["attempts"], found["input_versions"]["traffic_growth"]) == (2, 1)


def test_asking_twice_is_one_run_while_it_waits(client, ask, database):
    assert ask() == ask()
    assert ask(dry_run=True) != ask()
    with database.snapshot() as tx:
        assert [(job.kind, job.subject) for job in list_jobs(tx).items] == [("plan", "world")]


def test_the_executed_share_of_past_cycles_is_counted_in(client, planner, ask, world, database):
    put_world(client, world)
    ask()
    planner().reconcile()
    [plan] = client.get("/v1/placement-plans").json()["items"]
    with database.write() as tx:
        for number in range(5):
            given = {"planned": 2.0, "executed": 2.5 if number else 2.0, "now": DAY_ZERO}
            record_executed(tx, plan["placement_plan_id"], f"a{number}", phase="upsize", **given)
        record_executed(tx, plan["placement_plan_id"], "d", phase="downsize", planned=2.0, executed=1.0, now=DAY_ZERO)
    run = ask()
    planner().reconcile()
    bundle = policy_of(look(client, run)["bundle"])
    assert bundle["executed_upsize_share"] == pytest.approx(12 / 10)
    assert "executed_downsize_share" not in bundle, "one action says nothing"
    put(client, "policy", [{"executed_upsize_share": 1.5}])
    run = ask()
    planner().reconcile()
    assert policy_of(look(client, run)["bundle"])["executed_upsize_share"] == 1.5


def policy_of(bundle):
    with zipfile.ZipFile(bundle) as archive:
        return json.loads(archive.read("policy.json"))


def override(**changes):
    return {"kind": "presence", "subject": "feed", "region": "north", "reason": "network"} | changes


def test_events_are_left_out(client, planner, ask, world):
    put_world(client, world)
    ask()
    measured = measure_world(world, DAY_ZERO, drop_events=False)
    planner(measure=measured).reconcile()
    [run] = client.get("/v1/plan-runs").json()["items"]
    assert run["report"]["minutes"] == 142, "144 samples less the two of the drain"
