"""Test runs that end without a plan: unfit inputs, dead workers, overtaking plans, and cancelling."""

from datetime import timedelta

import pytest

from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.reconcile.clock import SystemClock
from libs.store.planner.placement_plans import commit_placement_plan
from libs.store.planner.plan_runs import create_plan_run, take_plan_run
from services.planner.reconcilers.make_placement_plan import ATTEMPTS_MAX
from tests.builders.measured import measure_world
from tests.builders.planning_inputs import put, put_world
from tests.builders.race import elsewhere
from tests.services.planner.conftest import DAY_ZERO, look


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


def test_amounts_that_are_too_far_apart_do_not_ask_for_more_time(client, planner, ask, world):
    put_world(client, world)
    rows = client.get("/v1/planning-inputs/supply").json()["items"]
    assert put(client, "supply", [row | {"capacity": 1e15} for row in rows]).status_code == 200
    run = ask()
    assert planner().reconcile() is PlanRunStatus.FAILED
    found = look(client, run)
    assert found["reason"] == "Unsolved"
    assert "another unit" in found["error"]


def test_no_plan_names_a_unit_where_no_limit_would_have_to_give(client, planner, ask, world):
    put_world(client, world)
    rows = [{"step": 1, "service": "store", "hardware_type": "compute", "capacity": 1e14}]
    assert put(client, "growth", rows).status_code == 200
    run = ask()
    assert planner().reconcile() is PlanRunStatus.FAILED
    assert "another unit" in look(client, run)["error"]


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
        deadline = SystemClock().now() + timedelta(seconds=120)
        while look(client, running)["progress"] == {} and SystemClock().now() < deadline:
            pass  # until the worker has told how far it is, and so has heard of it
        return measure_world(world, DAY_ZERO)(tx, words, **window)

    assert planner(measure=cancelled).reconcile() is PlanRunStatus.CANCELLED
    assert look(client, running)["status"] == "cancelled"
    assert client.get("/v1/placement-plans").json()["items"] == []
