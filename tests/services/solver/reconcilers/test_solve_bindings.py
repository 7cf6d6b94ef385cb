"""Check the effects of a solve, and that a failed one changes nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.fleet import TargetPlan
from libs.domain.plan import PlanKind, SolveRun, SolveStatus
from libs.domain.reservation_phase import ReservationPhase
from libs.interchange.bundles.solve import load_bundle
from libs.observability.tallies import take
from libs.plan_check.check import PlanRefusedError
from libs.ras.evaluate import coverage_of
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveResult
from libs.reconcile.clock import SystemClock
from libs.store.capacity.reservations import load_reservation, update_spec
from libs.store.plans.plans import commit_plan, load_plan
from libs.store.plans.solve_runs import fail_left_runs, list_solve_runs, start_solve_run
from libs.store.platform.database import Database
from services.solver.reconcilers import solve_bindings
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.stored import plan_of, read, reservation_id, targets

Solver = Callable[[], SolveBindings]


def latest(database: Database) -> SolveRun:
    with database.snapshot() as tx:
        return list_solve_runs(tx, region="west", after=None, limit=1).items[0]


def test_a_solve_moves_what_one_can_spare_to_who_is_short(database: Database, solver: Solver) -> None:
    assert solver().reconcile() is SolveStatus.COMMITTED
    after = read(database)
    assert not coverage_of(after, after.servers.target).shortfall.any()
    run = latest(database)
    assert run.plan_id == after.target_plan_id is not None
    with database.snapshot() as tx:
        plan = load_plan(tx, run.plan_id)
        finding = load_reservation(tx, reservation_id(after, "thin")).finding
    assert (plan.kind, plan.parent_plan_id, plan.left_alone) == (PlanKind.SOLVE, run.parent_plan_id, 0)
    assert finding is not None
    assert (finding.phase, finding.reason, finding.observed_generation) == (ReservationPhase.GRANTED, "Granted", 1)
    assert run.report is not None
    assert set(run.report) >= {"step_s", "size", "peak_mib", "objective", "terms", "lower_bound", "gap"}


def test_solving_again_changes_nothing(database: Database, solver: Solver) -> None:
    solver().reconcile()
    before = read(database)
    assert solver().reconcile() is SolveStatus.UNCHANGED
    after = read(database)
    assert after.target_plan_id == before.target_plan_id
    assert np.array_equal(after.servers.target, before.servers.target)


def test_what_is_short_is_said_in_numbers(database: Database, solver: Solver) -> None:
    with database.write() as tx:
        thin = load_reservation(tx, reservation_id(read(database), "thin"))

        update_spec(tx, thin.reservation_id, replace(thin.spec, capacity_rru=11.0), generation=thin.generation)
    solver().reconcile()
    with database.snapshot() as tx:
        finding = load_reservation(tx, thin.reservation_id).finding
    assert finding is not None
    assert (finding.phase, finding.observed_generation) == (ReservationPhase.DEGRADED, 2)
    assert finding.numbers["short_rru"] == pytest.approx(finding.numbers["needed_servers"])
    assert "hw-a" in finding.message


def test_a_plan_committed_meanwhile_makes_it_stale(
    database: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(snapshot, *arguments, **keywords):
        found = plan_target_bindings(snapshot, *arguments, **keywords)
        with database.write() as tx:
            quick = plan_of(snapshot, {"server-00": None})
            commit_plan(tx, snapshot, quick, kind=PlanKind.SOLVE, now=SystemClock().now(), parent=quick.parent_plan_id)
        return found

    monkeypatch.setattr(solve_bindings, "plan_target_bindings", slow)
    assert solver().reconcile() is SolveStatus.STALE
    assert "server-00" not in targets(read(database))
    assert "thin" not in targets(read(database)).values()
    assert "solve again" in (latest(database).error or "")


def test_a_solver_that_fails_leaves_the_last_target_standing(
    database: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments, **keywords):
        raise MemoryError("as told")

    monkeypatch.setattr(solve_bindings, "plan_target_bindings", broken)
    before = targets(read(database))
    with pytest.raises(MemoryError):
        solver().reconcile()
    assert targets(read(database)) == before
    run = latest(database)
    assert (run.status, run.error) == (SolveStatus.FAILED, "MemoryError: as told")


def test_an_illegal_plan_is_never_committed(
    database: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def illegal(snapshot, *arguments, **keywords):
        found = plan_target_bindings(snapshot, *arguments, **keywords)
        worse = np.full(len(snapshot.servers), -1, np.int32)
        return SolveResult(plan=TargetPlan(target=worse, parent_plan_id=snapshot.target_plan_id), report=found.report)

    monkeypatch.setattr(solve_bindings, "plan_target_bindings", illegal)
    before = targets(read(database))
    with pytest.raises(PlanRefusedError, match="ShortfallGrows"):
        solver().reconcile()
    assert targets(read(database)) == before


def test_a_run_that_a_dead_worker_left_running_is_marked_failed(database: Database, solver: Solver) -> None:
    with database.write() as tx:
        left = start_solve_run(tx, 1, trigger="test", seed=0, parent_plan_id=None, now=SystemClock().now())
    take()
    solver().reconcile()
    assert take()["plimsoll_solves", ("west", "failed", "killed")] == 1, "it counts as one that failed"
    with database.snapshot() as tx:
        runs = {run.solve_run_id: run for run in list_solve_runs(tx, region=None, after=None, limit=10).items}
    assert runs[left].status is SolveStatus.FAILED
    assert "worker ended" in (runs[left].error or "")


def test_a_run_that_was_given_up_meanwhile_commits_nothing(
    database: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was stopped for longer than its lease, and another run began."""

    def outlived(snapshot, *arguments, **options):
        with database.write() as tx:
            assert fail_left_runs(tx, 1, now=SystemClock().now()) == 1
            start_solve_run(tx, 1, trigger="again", seed=0, parent_plan_id=None, now=SystemClock().now())
        return plan_target_bindings(snapshot, *arguments, **options)

    monkeypatch.setattr(solve_bindings, "plan_target_bindings", outlived)
    before = read(database)
    assert solver().reconcile() is SolveStatus.STALE
    after = read(database)
    assert (targets(after), after.target_plan_id) == (targets(before), before.target_plan_id)
    with database.snapshot() as tx:
        again, given_up = list_solve_runs(tx, region="west", after=None, limit=10).items
    assert (again.status, given_up.status, given_up.plan_id) == (SolveStatus.RUNNING, SolveStatus.FAILED, None)


def test_its_bundle_solves_to_the_same_plan(database: Database, solver: Solver) -> None:
    before = read(database)
    solver().reconcile()
    run = latest(database)
    assert run.bundle is not None
    bundle = load_bundle(Path(run.bundle))
    image = bundle.region.snapshot
    again = plan_target_bindings(image, seed=bundle.seed)
    named = dict(zip(image.servers.name, again.plan.target, strict=True))
    wanted = {name: image.reservations.name[target] for name, target in named.items() if target >= 0}
    assert wanted == targets(read(database)) != targets(before)


def test_only_the_newest_bundles_stay(database: Database, solver: Solver, settings: SolverSettings) -> None:
    for _ in range(4):
        solver().reconcile()
    kept = sorted(path.name for path in (settings.bundle_dir / "west").iterdir())
    assert kept == ["solve-0000000003.zip", "solve-0000000004.zip"]


def test_a_reservation_that_no_server_can_serve_is_short_and_stops_no_solve(database: Database, solver: Solver) -> None:
    thin = reservation_id(read(database), "thin")
    with database.write() as tx:
        tx.execute(sa.text("DELETE FROM reservation_rru WHERE reservation_id = :id"), {"id": thin})
    assert solver().reconcile() is not SolveStatus.FAILED
    with database.snapshot() as tx:
        finding = load_reservation(tx, thin).finding
    assert finding is not None
    assert (finding.phase, finding.reason) == (ReservationPhase.DEGRADED, "NoEligibleHardware")
    assert "hardware type" in finding.message
