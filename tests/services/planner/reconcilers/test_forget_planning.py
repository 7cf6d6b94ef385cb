"""Old finished rows are deleted, but not those that a kept run, the target or the next plan needs."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.reconcile.jobs import ADVANCE_EXECUTIONS, FORGET_AUDIT, FORGET_SESSIONS, REMIND_APPROVALS, WORLD_CYCLES
from libs.store.planner.executed_changes import load_executed_shares, record_executed
from libs.store.planner.placement_plans import commit_placement_plan, load_placement_plan, load_target_plan_id
from libs.store.planner.plan_runs import create_plan_run, finish_plan_run, list_plan_runs, take_plan_run
from libs.store.planner.planning_inputs import append_version, list_versions, load_version
from libs.store.planner.service_models import save_service_models
from libs.store.platform.refusals import NotFound
from libs.store.retention.of_planning import forget_plan_runs
from services.planner.cycle_tasks import JOBS
from services.planner.reconcilers.forget_planning import ForgetPlanning
from services.planner.settings import CycleSettings

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(days):
    return START + timedelta(days=days)


@pytest.fixture
def put(database):
    def put(name, version, at):
        with database.write() as tx:
            append_version(
                tx, name, b"%d" % version, rows=1, generation=version - 1, comment=None, created_by="olga", now=day(at)
            )

    return put


@pytest.fixture
def plan(database):
    """Plan on that day; return the id of the plan, or None without a plan."""

    def plan(at, *, status=PlanRunStatus.DONE, committed=True):
        with database.write() as tx:
            create_plan_run(tx, trigger=PlanTrigger.REQUEST, dry_run=not committed, now=day(at))
            run = take_plan_run(tx, window=(day(at - 2), day(at)), now=day(at))
            save_service_models(tx, run.plan_run_id, {"store": {"confidence": "high"}})
            made = None
            if status is PlanRunStatus.DONE:
                made = commit_placement_plan(
                    tx,
                    plan_run_id=run.plan_run_id,
                    parent=run.parent_placement_plan_id,
                    committed=committed,
                    input_versions=run.input_versions,
                    overrides=[],
                    summary={},
                    files={"plan.json": b"{}"},
                    now=day(at),
                )
            finish_plan_run(tx, run, status, now=day(at), placement_plan_id=made)
            return made

    return plan


@pytest.fixture
def forget(database):
    def forget(at, *, kept_days=90, executed_plans=8):
        class At:
            def now(self):
                return day(at)

        return ForgetPlanning(database, At(), kept_days, executed_plans, batch=2).reconcile()

    return forget


def versions(database, name):
    with database.snapshot() as tx:
        return [one.version for one in list_versions(tx, name, before=None, limit=100).items]


def plans(database):
    with database.snapshot() as tx:
        runs = list_plan_runs(tx, before=None, limit=100).items
        count = {
            table: tx.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one()
            for table in ("placement_plans", "placement_plan_files", "service_models")
        }
        return [run.placement_plan_id for run in runs], count


def test_old_runs_go_with_all_that_hangs_on_them(database, plan, forget):
    first, dry = plan(0), plan(1, committed=False)
    for _ in range(3):
        plan(2, status=PlanRunStatus.FAILED)
    second, third = plan(50), plan(60)
    assert forget(90) == 0, "nothing is that old"
    assert forget(100) == 5
    assert plans(database) == (
        [third, second],
        {"placement_plans": 2, "placement_plan_files": 2, "service_models": 2},
    )
    with database.snapshot() as tx:
        assert load_target_plan_id(tx) == third
        assert load_placement_plan(tx, second).parent_placement_plan_id == first, "it says that there was one"
        for gone in (first, dry):
            with pytest.raises(NotFound):
                load_placement_plan(tx, gone)


def test_the_target_stays_however_old_it_is(database, plan, forget):
    target = plan(0)
    plan(1, committed=False)
    assert forget(1000) == 1
    assert plans(database)[0] == [target]
    after = plan(1001)
    with database.snapshot() as tx:
        assert load_placement_plan(tx, after).parent_placement_plan_id == target
    assert forget(2000) == 1
    assert plans(database)[0] == [after]


def test_runs_that_are_not_over_stay(database, plan, forget):
    with database.write() as tx:
        queued = create_plan_run(tx, trigger=PlanTrigger.SCHEDULE, now=day(0))
    assert forget(1000) == 0
    with database.write() as tx:
        assert take_plan_run(tx, window=(day(1), day(2)), now=day(1000)).plan_run_id == queued.plan_run_id
    assert forget(2000) == 0


def test_what_the_next_plan_learns_from_stays(database, plan, forget):
    made = [plan(at) for at in range(4)]
    with database.write() as tx:
        for one in made[:3]:
            record_executed(tx, one, "upsize/a", phase="upsize", planned=10.0, executed=5.0 + one, now=day(4))
        before = load_executed_shares(tx, plans=2)
    assert forget(1000, executed_plans=2) == 1
    assert plans(database)[0] == [made[3], made[2], made[1]]
    with database.snapshot() as tx:
        assert load_executed_shares(tx, plans=2) == before


def test_a_batch_of_runs_is_bounded_by_the_rows_of_their_plans(database, plan):
    for at in range(4):
        plan(at)
    for left in (3, 2, 1):
        with database.write() as tx:
            assert forget_plan_runs(tx, before=day(9), executed_plans=0, most=100, dependents_most=1) == 1
        assert len(plans(database)[0]) == left
    with database.write() as tx:
        assert forget_plan_runs(tx, before=day(9), executed_plans=0, most=100, dependents_most=1) == 0


def test_superseded_inputs_go_unless_a_run_pins_them(database, put, plan, forget):
    for version, at in enumerate((0, 1, 2, 10, 200), 1):
        put("supply", version, at)
        if version == 3:
            plan(5)  # with version 3
    put("gateways", 1, 0)
    assert forget(91.5) == 1, "of supply 1; 2 was in force until 90 days ago"
    assert versions(database, "supply") == [5, 4, 3, 2]
    assert forget(150) == 1, "the target pins 3; 4 is in force until day 200"
    assert versions(database, "supply") == [5, 4, 3]
    target = plan(210)
    assert forget(301) == 1 + 2
    assert (versions(database, "supply"), versions(database, "gateways")) == ([5], [1])
    with database.snapshot() as tx:
        pinned = load_placement_plan(tx, target).input_versions
        assert [load_version(tx, name, version)[1] for name, version in sorted(pinned.items())] == [b"1", b"5"]
    put("supply", 6, 400)
    assert versions(database, "supply") == [6, 5], "numbers go on"


@pytest.mark.parametrize("table", ["planning_input_versions", "placement_plans"])
def test_nothing_is_deleted_by_accident(database, put, plan, table):
    put("supply", 1, 0)
    plan(1)
    with database.write() as tx, pytest.raises(sa.exc.IntegrityError, match="append-only"):
        tx.execute(sa.text(f"DELETE FROM {table}"))


def test_it_is_scheduled_and_a_worker_does_it():
    assert set(WORLD_CYCLES) - {ADVANCE_EXECUTIONS, FORGET_AUDIT, FORGET_SESSIONS, REMIND_APPROVALS} <= {
        kind.name for kind in JOBS.kinds
    }


def test_a_worker_beside_the_planning_one_needs_no_folder_for_bundles(monkeypatch):
    monkeypatch.delenv("PLIMSOLL_BUNDLE_DIR", raising=False)
    monkeypatch.setenv("PLIMSOLL_PLAN_WEEKDAY", "friday")
    monkeypatch.setenv("PLIMSOLL_HISTORY_KEPT_DAYS", "30")
    found = CycleSettings()
    assert (found.plan_weekday, found.history_kept_days) == ("friday", 30)
