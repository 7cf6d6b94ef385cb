"""A solver that fails, dies or runs out of time keeps the last target, and sets the region's condition."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from libs.domain.region_condition import RegionCondition
from libs.reconcile.clock import SystemClock
from libs.store.fleet.regions import load_region
from libs.store.plans.solve_conditions import load_solve_conditions
from libs.store.plans.solve_runs import start_solve_run
from libs.store.platform.database import Database
from libs.store.platform.jobs import claim_job, enqueue
from libs.web.database_metrics import DatabaseCollector
from services.solver.reconcilers import solve_bindings
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.stored import read, targets

Solver = Callable[[], SolveBindings]


def solved(database: Database) -> RegionCondition:
    with database.snapshot() as tx:
        (found,) = load_solve_conditions(tx, [load_region(tx, "west").region_id]).values()
        return found


def test_it_is_unknown_then_true(database: Database, solver: Solver) -> None:
    assert (solved(database).status, solved(database).reason) == ("Unknown", "AwaitingSolve")
    solver().reconcile()
    first = solved(database)
    assert (first.type, first.status, first.reason) == ("Solved", "True", "Solved")
    solver().reconcile()
    assert (solved(database).status, solved(database).changed_at) == ("True", first.changed_at), "so since the first"


def test_a_failure_is_raised_and_cleared_by_the_next_solve(
    database: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver().reconcile()
    before = targets(read(database))

    def broken(*arguments: object, **keywords: object) -> None:
        raise MemoryError("as told\nand more")

    with monkeypatch.context() as patched:
        patched.setattr(solve_bindings, "plan_target_bindings", broken)
        for _ in range(2):
            with pytest.raises(MemoryError):
                solver().reconcile()
    found = solved(database)
    assert (found.status, found.reason) == ("False", "SolveFailed")
    assert "The last target stands: solve run 3 failed (MemoryError: as told)." in found.message
    assert targets(read(database)) == before
    told = {family.name: family.samples for family in DatabaseCollector(database).collect()}
    (sample,) = told["plimsoll_region_condition"]
    assert (sample.labels, sample.value) == ({"region": "west", "type": "Solved", "reason": "SolveFailed"}, 0.0)
    with database.snapshot() as tx:
        ends = list(tx.execute(sa.text("SELECT finished_at FROM solve_runs ORDER BY solve_run_id")).scalars())
    assert found.changed_at == ends[1], "since the first of the failures"
    solver().reconcile()
    assert solved(database).status == "True"


def test_running_out_of_time_is_raised_and_keeps_the_best_plan(database: Database, settings: SolverSettings) -> None:
    hurried = settings.model_copy(update={"solve_s_max": 1e-9})
    SolveBindings(database, SystemClock(), hurried, "west", "test").reconcile()
    assert (solved(database).status, solved(database).reason) == ("False", "SolveOutOfTime")


def test_a_run_whose_worker_is_gone_is_a_crash_and_one_that_runs_is_not(database: Database, solver: Solver) -> None:
    solver().reconcile()
    with database.write() as tx:
        job_id = enqueue(tx, "solve", "west")
        assert claim_job(tx, job_id, worker="w", lease_s=60) is not None
        start_solve_run(tx, 1, trigger="test", seed=0, parent_plan_id=None, now=SystemClock().now())
    assert solved(database).status == "True", "a run says nothing while it runs"
    with database.write() as tx:
        tx.execute(sa.text("UPDATE jobs SET status = 'queued', worker = NULL"))
    assert solved(database).reason == "SolverCrashed"
