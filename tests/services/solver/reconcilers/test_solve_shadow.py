"""A new policy solves the snapshot of the last real solve, changes nothing of the region, and is held by findings."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from libs.domain.plan import SolveStatus
from libs.domain.policy_rollout import ComparisonStatus, PolicyComparison, RolloutStage
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.reconcile import crash
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import SOLVE
from libs.store.fleet.regions import load_region
from libs.store.plans.policy_comparisons import list_comparisons
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from libs.store.regions.region_conditions import load_condition
from libs.store.regions.rollout_stages import resume_rollout
from services.solver.reconcilers import solve_shadow
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.reconcilers.solve_shadow import SolveShadow
from services.solver.settings import SolverSettings
from tests.builders.rollout import enter, latest, start
from tests.builders.stored import read, targets

Solver = Callable[[], SolveBindings]


def shadow(database: Database) -> ComparisonStatus | None:
    return SolveShadow(database, SystemClock(), "west").reconcile()


def comparisons(database: Database) -> list[PolicyComparison]:
    rollout = latest(database)
    with database.snapshot() as tx:
        return list(list_comparisons(tx, rollout.policy_rollout_id).items)


def condition(database: Database) -> tuple[ConditionStatus, str]:
    with database.snapshot() as tx:
        found = load_condition(tx, load_region(tx, "west").region_id, RegionConditionType.POLICY_ROLLOUT)
    assert found is not None
    return found.status, found.reason


def resume(database: Database) -> None:
    rollout = latest(database)
    with database.write() as tx:
        region = load_region(tx, "west", lock=True)
        resume_rollout(
            tx, region, rollout, generation=rollout.generation, actor="olga", reason="test", now=SystemClock().now()
        )


@pytest.fixture
def solved(database: Database, solver: Solver) -> Database:
    """A region with a history of three solves."""
    for _ in range(3):
        solver().reconcile()
    return database


def test_a_shadow_solves_what_the_real_solve_read_and_changes_nothing(solved: Database, solver: Solver) -> None:
    start(solved, buffer_cost=8.0)
    assert shadow(solved) is None, "no solve has begun since the start"
    solver().reconcile()
    before = targets(read(solved))
    with solved.snapshot() as tx:
        plans = tx.execute(sa.text("SELECT count(*) FROM plans")).scalar_one()
        region = load_region(tx, "west")
    assert shadow(solved) is ComparisonStatus.DONE
    assert shadow(solved) is None, "it compared with this solve already"
    [found] = comparisons(solved)
    assert (found.status, found.stage, found.findings) == (ComparisonStatus.DONE, RolloutStage.SHADOW, ())
    assert found.report is not None
    old, new = found.report["at_old_prices"]["real"], found.report["at_old_prices"]["shadow"]
    assert {"total", "moved_in_use", "moved_idle", "shortfall_rru", "buffer", "stability"} <= old.keys() & new.keys()
    assert (found.report["bound_differently"], found.report["servers"]) == (0, 16)
    assert set(found.report["solve"]) == {"real", "shadow"}
    assert targets(read(solved)) == before
    with solved.snapshot() as tx:
        assert tx.execute(sa.text("SELECT count(*) FROM plans")).scalar_one() == plans
        assert load_region(tx, "west") == region
    assert condition(solved) == (ConditionStatus.TRUE, "InShadow")


def test_a_policy_that_leaves_capacity_short_is_held_and_solves_no_more(solved: Database, solver: Solver) -> None:
    start(solved, shortfall_cost=0.0, surplus_cost=1000.0, fix_first=False)
    solver().reconcile()
    assert shadow(solved) is ComparisonStatus.DONE
    [found] = comparisons(solved)
    assert {one.reason for one in found.findings} == {"OutsideHistory"}
    assert {name for one in found.findings for name in one.numbers} >= {"shortfall_rru", "reservations_short"}
    assert found.report is not None
    assert found.report["bound_differently"] > 0
    assert latest(solved).held == found.findings
    assert condition(solved) == (ConditionStatus.FALSE, "OutsideHistory")
    solver().reconcile()
    assert shadow(solved) is None, "a held roll-out has no shadow solves"
    resume(solved)
    assert condition(solved) == (ConditionStatus.TRUE, "InShadow")
    assert shadow(solved) is ComparisonStatus.DONE


def test_too_little_history_holds_it(database: Database, solver: Solver) -> None:
    start(database, buffer_cost=8.0)
    solver().reconcile()
    assert shadow(database) is ComparisonStatus.DONE
    assert [one.reason for one in latest(database).held] == ["TooLittleHistory"]


def test_a_shadow_makes_room_for_a_real_solve(
    solved: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(solved, buffer_cost=8.0)
    solver().reconcile()
    with solved.write() as tx:
        job_id = enqueue(tx, SOLVE, "west")
    assert shadow(solved) is None
    assert SolveShadow(solved, SystemClock(), "west", after_job=job_id).reconcile() is ComparisonStatus.DONE
    solver().reconcile()
    right = solve_shadow.plan_target_bindings
    waits = iter([False])
    monkeypatch.setattr(solve_shadow, "solve_waits", lambda *_, **__: next(waits, True))

    def until_cancelled(*arguments: object, **named: object) -> object:
        while not named["cancelled"]():  # type: ignore[operator]
            pass
        return right(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(solve_shadow, "plan_target_bindings", until_cancelled)
    assert shadow(solved) is ComparisonStatus.YIELDED
    assert [one.status for one in comparisons(solved)] == [ComparisonStatus.YIELDED, ComparisonStatus.DONE]
    assert latest(solved).held == ()


def test_a_shadow_that_fails_holds_the_roll_out_and_no_real_solve(
    solved: Database, solver: Solver, settings: SolverSettings
) -> None:
    start(solved, buffer_cost=8.0)
    solver().reconcile()
    for bundle in settings.bundle_dir.rglob("*.zip"):
        bundle.unlink()
    assert shadow(solved) is ComparisonStatus.FAILED
    [found] = comparisons(solved)
    assert "is missing" in str(found.error)
    assert condition(solved) == (ConditionStatus.FALSE, "ShadowFailed")
    assert solver().reconcile() in (SolveStatus.COMMITTED, SolveStatus.UNCHANGED)


@pytest.mark.parametrize("point", ["begin.before", "begin.after", "finish.before", "finish.after"])
def test_a_killed_shadow_leaves_one_comparison_that_ended(
    solved: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    start(solved, buffer_cost=8.0)
    solver().reconcile()

    class Killed(BaseException):
        pass

    def die(name: str) -> None:
        if name == f"solver.shadow.{point}":
            raise Killed

    monkeypatch.setattr(solve_shadow, "crash_point", die)
    with pytest.raises(Killed):
        shadow(solved)
    monkeypatch.setattr(solve_shadow, "crash_point", crash.crash_point)
    again = shadow(solved)
    [found] = comparisons(solved)
    lost = point in ("begin.after", "finish.before")
    assert found.status is (ComparisonStatus.FAILED if lost else ComparisonStatus.DONE)
    assert again is {"begin.before": ComparisonStatus.DONE, "finish.after": None}.get(point, ComparisonStatus.FAILED)
    assert [one.reason for one in latest(solved).held] == (["ShadowFailed"] if lost else [])


def test_a_roll_out_that_went_back_meanwhile_is_not_held(
    solved: Database, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(solved, shortfall_cost=0.0, surplus_cost=1000.0, fix_first=False)
    solver().reconcile()
    right = solve_shadow.plan_target_bindings

    def meanwhile(*arguments: object, **named: object) -> object:
        enter(solved, RolloutStage.BACK)
        return right(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(solve_shadow, "plan_target_bindings", meanwhile)
    assert shadow(solved) is ComparisonStatus.DONE
    assert latest(solved).held == ()
    assert condition(solved) == (ConditionStatus.TRUE, "TakenBack")


def test_a_canary_changes_real_solves_and_is_judged_by_them(solved: Database, solver: Solver) -> None:
    start(solved, surplus_cost=0.0, buffer_cost=0.0)
    enter(solved, RolloutStage.CANARY, 0.5)
    solver().reconcile()
    with solved.snapshot() as tx:
        path = tx.execute(sa.text("SELECT bundle FROM solve_runs ORDER BY solve_run_id DESC LIMIT 1")).scalar_one()
    canary = solve_shadow.load_bundle(path).region.snapshot.canary
    assert canary is not None
    assert (canary.share, canary.policy.surplus_cost) == (0.5, 0.0)
    assert shadow(solved) is ComparisonStatus.DONE
    [found] = comparisons(solved)
    assert found.stage is RolloutStage.CANARY
    enter(solved, RolloutStage.BACK)
    solver().reconcile()
    assert shadow(solved) is None
