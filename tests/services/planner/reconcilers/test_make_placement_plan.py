"""Plan runs: from inputs over REST and measurements to a plan that is the offline one, and all that can go wrong."""

import json
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.interchange.traces.intake import Intake, Rows
from libs.reconcile.clock import SystemClock
from libs.store.planner.executed_changes import record_executed
from libs.store.planner.placement_plans import commit_placement_plan, load_target_plan_id
from libs.store.planner.plan_runs import create_plan_run, load_plan_run, take_plan_run
from libs.store.platform.jobs import list_jobs
from libs.store.telemetry.span_batches import put_spans
from services.cli.flux.offline import make_models, make_plan
from services.planner.reconcilers.make_placement_plan import ATTEMPTS_MAX, MakePlacementPlan
from services.planner.reconcilers.schedule_plan_runs import SchedulePlanRuns
from services.planner.settings import PlannerSettings
from tests.builders.measured import measure_world
from tests.builders.planning_inputs import put, put_world
from tests.builders.race import elsewhere

DAY_ZERO = datetime(2026, 11, 2, tzinfo=UTC)


class FixedClock:
    """Noon of the day after the world's two days."""

    def now(self):
        return DAY_ZERO + timedelta(days=2, hours=12)


@pytest.fixture
def settings(tmp_path):
    found = {"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles", "PLIMSOLL_PLAN_WINDOW_DAYS": 2, "PLIMSOLL_PLANS_MAX": 2}
    return PlannerSettings.model_validate(found)


@pytest.fixture
def planner(database, settings, world):
    def make(**changes):
        given = {
            "database": database,
            "clock": FixedClock(),
            "settings": settings,
            "measure": measure_world(world, DAY_ZERO),
        }
        return MakePlacementPlan(**given | changes)

    return make


@pytest.fixture
def ask(client):
    def ask(**body):
        answer = client.post("/v1/plan-runs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()["plan_run_id"]

    return ask


def look(client, plan_run_id):
    return client.get(f"/v1/plan-runs/{plan_run_id}").json()


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


@pytest.mark.parametrize(("missing", "reason"), [(("supply",), "MissingInputs"), ((), "NothingMeasured")])
def test_what_a_retry_cannot_mend_ends_the_run_in_words(client, planner, ask, world, missing, reason):
    put_world(client, world, skip=missing)
    run = ask()
    later = measure_world(world, DAY_ZERO, only_before=0)
    assert planner(measure=later).reconcile() is PlanRunStatus.FAILED
    found = look(client, run)
    assert (found["status"], found["reason"]) == ("failed", reason)
    assert "supply" in found["error"] if missing else "2026-11-02" in found["error"]


def test_inputs_that_do_not_fit_together_are_named(client, planner, ask, world):
    put_world(client, world)
    rows = client.get("/v1/planning-inputs/services").json()["items"]
    assert put(client, "services", rows[:2]).json()["warnings"]
    run = ask()
    assert planner().reconcile() is PlanRunStatus.FAILED
    found = look(client, run)
    assert found["reason"] == "BadInputs"
    assert "'store' is not a service of this world" in found["error"]


def test_no_plan_possible_says_what_would_have_to_give(client, planner, ask, world):
    put_world(client, world)
    rows = [
        {"service": "store", "region": r, "hardware_type": "compute", "capacity_max": 0.1} for r in ("east", "west")
    ]
    assert put(client, "controls", [*rows, rows[0] | {"region": "north"}]).status_code == 200
    run = ask()
    assert planner().reconcile() is PlanRunStatus.FAILED
    found = look(client, run)
    assert found["reason"] == "NoPlan"
    assert "store would need" in found["error"]


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


def test_a_run_that_breaks_is_tried_again_and_then_given_up(client, planner, ask, world):
    put_world(client, world)
    first, second = ask(), ask(dry_run=True)

    def broken(*_, **__):
        raise ZeroDivisionError("measurements")

    for _ in range(ATTEMPTS_MAX):
        with pytest.raises(ZeroDivisionError):
            planner(measure=broken).reconcile()
    found = look(client, first)
    assert (found["status"], found["reason"]) == ("failed", "Crashed")
    assert "ZeroDivisionError" in found["error"]
    assert planner().reconcile() is PlanRunStatus.DONE
    assert look(client, second)["status"] == "done"


def test_a_run_whose_workers_always_die_is_given_up(client, planner, ask, world, database):
    put_world(client, world)
    run = ask()
    for _ in range(ATTEMPTS_MAX):
        with database.write() as tx:
            take_plan_run(tx, window=(DAY_ZERO, DAY_ZERO), now=DAY_ZERO)
    assert planner().reconcile() is PlanRunStatus.FAILED
    assert look(client, run)["reason"] == "Crashed"
    assert planner().reconcile() is None


def test_an_attempt_that_was_replaced_commits_nothing(client, planner, ask, world, database):
    put_world(client, world)
    run = ask()

    def take():
        with database.write() as other:
            take_plan_run(other, window=(DAY_ZERO, DAY_ZERO), now=DAY_ZERO)

    def replaced(tx, words, **window):
        elsewhere(take)
        return measure_world(world, DAY_ZERO)(tx, words, **window)

    assert planner(measure=replaced).reconcile() is PlanRunStatus.STALE
    found = look(client, run)
    assert (found["status"], found["bundle"]) == ("running", None)
    assert client.get("/v1/service-models").json()["items"] == []
    assert client.get("/v1/placement-plans").json()["items"] == []


def test_another_plan_meanwhile_makes_it_stale_and_asks_again(client, planner, ask, world, database):
    put_world(client, world)
    run = ask(reason="mine")

    def overtake():
        with database.write() as other:
            made = create_plan_run(other, trigger=PlanTrigger.SCHEDULE, now=DAY_ZERO)
            commit_placement_plan(
                other,
                plan_run_id=made.plan_run_id,
                parent=None,
                committed=True,
                input_versions={},
                overrides=[],
                summary={},
                files={"plan.json": b"{}"},
                now=DAY_ZERO,
            )

    def overtaken(tx, words, **window):
        elsewhere(overtake)
        return measure_world(world, DAY_ZERO)(tx, words, **window)

    assert planner(measure=overtaken).reconcile() is PlanRunStatus.STALE
    assert look(client, run)["reason"] == "StalePlan"
    latest = client.get("/v1/plan-runs").json()["items"][0]
    assert (latest["status"], latest["request_reason"]) == ("queued", "mine")


def test_cancelling(client, planner, ask, world, database):
    put_world(client, world)
    waiting = ask()
    assert client.post(f"/v1/plan-runs/{waiting}/cancel").json()["status"] == "cancelled"
    assert client.post(f"/v1/plan-runs/{waiting}/cancel").json()["code"] == "wrong_phase"
    running = ask()

    def cancelled(tx, words, **window):
        assert client.post(f"/v1/plan-runs/{running}/cancel").json()["cancel_requested"] is True
        deadline = SystemClock().now() + timedelta(seconds=30)
        while look(client, running)["progress"] == {} and SystemClock().now() < deadline:
            pass  # until the worker has told how far it is, and so has heard of it
        return measure_world(world, DAY_ZERO)(tx, words, **window)

    assert planner(measure=cancelled).reconcile() is PlanRunStatus.CANCELLED
    assert look(client, running)["status"] == "cancelled"
    assert client.get("/v1/placement-plans").json()["items"] == []


def test_asking_twice_is_one_run_while_it_waits(client, ask, database):
    assert ask() == ask()
    assert ask(dry_run=True) != ask()
    with database.snapshot() as tx:
        assert [(job.kind, job.subject) for job in list_jobs(tx).items] == [("plan", "world")]


def test_the_weekly_cycle_asks_once_there_is_something_to_plan_from(client, database, world):
    scheduled = SchedulePlanRuns(database, FixedClock(), weekday=0, hour=2)
    assert scheduled.reconcile() is None
    put_world(client, world)
    run = scheduled.reconcile()
    assert scheduled.reconcile() == run, "one is open already"
    with database.snapshot() as tx:
        assert load_plan_run(tx, run).trigger is PlanTrigger.SCHEDULE


@pytest.mark.parametrize(("weekday", "hour"), [(0, 2), (2, 12), (2, 13), (3, 0), (6, 23)])
def test_the_week_begins_when_operators_say(client, database, world, weekday, hour):
    """Looked at every hour of the first and third of three weeks: at the hour, and at once for what was missed."""
    put_world(client, world)
    noon, asked = FixedClock().now(), []

    class At:
        def now(self):
            return self.at

    clock = At()
    for hours in [*range(7 * 24), *range(15 * 24, 22 * 24)]:
        clock.at = noon + timedelta(hours=hours)
        run = SchedulePlanRuns(database, clock, weekday, hour).reconcile()
        if run is not None:
            asked.append(clock.at)
            client.post(f"/v1/plan-runs/{run}/cancel")
    first, *later = asked
    assert first == noon, "nobody ever planned this week"
    begun = [at for at in later if (at.weekday(), at.hour) == (weekday, hour)]
    made_up = [at for at in later if at == noon + timedelta(days=15)]
    assert sorted(begun + made_up) == later
    assert len(later) == 3 if (weekday, hour) != (2, 12) else len(later) == 2


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
