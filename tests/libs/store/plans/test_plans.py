import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.fleet import FleetSnapshot, TargetPlan
from libs.domain.plan import Plan, PlanKind
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.reconcile.errors import StaleGeneration, StalePlan
from libs.reconcile.jobs import MOVE
from libs.store.plans.plans import commit_plan, commit_release, list_plan_changes, list_plans, load_plan
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import list_jobs
from libs.store.platform.refusals import NotFound
from tests.builders.race import Write, meanwhile, race
from tests.builders.region import region_image
from tests.builders.stored import NOW, plan_of, read, reservation_id, stored, targets

SPEC = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})


@pytest.fixture
def snapshot(database: Database) -> FleetSnapshot:
    image = region_image(
        reservations={"web": SPEC, "batch": SPEC},
        current={"server-00": "web", "server-01": "batch", "server-02": "gone"},
    )
    return stored(database, image)


def committing(kind: PlanKind, snapshot: FleetSnapshot, changes: dict[str, str | None]) -> Write:
    plan, parent = plan_of(snapshot, changes), snapshot.target_plan_id
    return lambda tx: commit_plan(tx, snapshot, plan, kind=kind, parent=parent, now=NOW)


def solve(database: Database, snapshot: FleetSnapshot, changes: dict[str, str | None]) -> Plan | None:
    return write(database, committing(PlanKind.SOLVE, snapshot, changes))


def grant(database: Database, snapshot: FleetSnapshot, changes: dict[str, str | None]) -> Plan | None:
    return write(database, committing(PlanKind.GRANT, snapshot, changes))


def write(database: Database, what: Write) -> Plan | None:
    with database.write() as tx:
        plan = what(tx)
    assert plan is None or isinstance(plan, Plan)
    return plan


def touch(name: str) -> Write:
    statement = sa.text("UPDATE servers SET host_profile = host_profile || '+' WHERE name = :name")
    return lambda tx: tx.execute(statement, {"name": name}).rowcount


def delete(reservation: int) -> Write:
    def run(tx: Transaction) -> Plan | None:
        statement = "UPDATE reservations SET deleted_at = now() WHERE reservation_id = :id"
        tx.execute(sa.text(statement), {"id": reservation})
        return commit_release(tx, "west", reservation, now=NOW)

    return run


def test_a_solve_writes_what_differs_and_heads_the_lineage(database: Database, snapshot: FleetSnapshot) -> None:
    plan = solve(database, snapshot, {"server-01": "web", "server-02": None, "server-03": "batch"})
    assert plan is not None
    assert (plan.kind, plan.changes, plan.left_alone) == (PlanKind.SOLVE, 3, 0)
    assert plan.parent_plan_id == snapshot.target_plan_id
    after = read(database)
    assert after.target_plan_id == plan.plan_id
    assert targets(after) == {"server-00": "web", "server-01": "web", "server-03": "batch"}
    np.testing.assert_array_equal(after.servers.current, snapshot.servers.current)
    with database.snapshot() as tx:
        page = list_plan_changes(tx, plan.plan_id, limit=2)
        rest = list_plan_changes(tx, plan.plan_id, after=page.next_cursor, limit=2)
    assert [(c.server, c.from_reservation, c.to_reservation) for c in (*page.items, *rest.items)] == [
        ("server-01", "batch", "web"),
        ("server-02", "gone", None),
        ("server-03", None, "batch"),
    ]
    assert rest.next_cursor is None


def test_a_reservation_that_was_never_stored_is_not_taken_for_free(database: Database, snapshot: FleetSnapshot) -> None:
    asked, row = with_reservation(snapshot, "new", SPEC)
    with pytest.raises(ValueError, match="never stored"):
        solve(database, asked, {"server-00": "new"})
    beyond = TargetPlan(target=np.full(8, row, np.int32), parent_plan_id=snapshot.target_plan_id)
    with database.write() as tx, pytest.raises(ValueError, match="row of a reservation"):
        commit_plan(tx, snapshot, beyond, kind=PlanKind.SOLVE, parent=snapshot.target_plan_id, now=NOW)
    assert targets(read(database)) == targets(snapshot)


def test_a_solve_that_finds_nothing_to_change_leaves_no_trace(database: Database, snapshot: FleetSnapshot) -> None:
    assert solve(database, snapshot, {}) is None
    assert read(database).target_plan_id == snapshot.target_plan_id


def test_a_solve_on_a_plan_that_is_no_longer_the_target_is_stale(database: Database, snapshot: FleetSnapshot) -> None:
    first = solve(database, snapshot, {"server-03": "web"})
    assert first is not None
    with pytest.raises(StalePlan, match=f"plan {first.plan_id}"):
        solve(database, snapshot, {"server-04": "web"})
    with pytest.raises(StalePlan):
        solve(database, snapshot, {})
    assert targets(read(database)).keys() == {"server-00", "server-01", "server-02", "server-03"}


def test_of_two_solves_at_once_exactly_one_wins(database: Database, snapshot: FleetSnapshot) -> None:
    first = committing(PlanKind.SOLVE, snapshot, {"server-03": "web"})
    second = committing(PlanKind.SOLVE, snapshot, {"server-03": "batch"})
    outcomes = race(database, first, second)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Plan", "StalePlan"]
    winner = "web" if isinstance(outcomes[0], Plan) else "batch"
    assert targets(read(database))["server-03"] == winner


def test_servers_that_changed_under_a_solve_are_left_alone(database: Database, snapshot: FleetSnapshot) -> None:
    with database.write() as tx:
        touch("server-03")(tx)
    plan = solve(database, snapshot, {"server-03": "web", "server-04": "web"})
    assert plan is not None
    assert (plan.changes, plan.left_alone) == (1, 1)
    assert "server-03" not in targets(read(database))


def test_a_server_that_is_changing_under_a_solve_is_waited_for(database: Database, snapshot: FleetSnapshot) -> None:
    commit = committing(PlanKind.SOLVE, snapshot, {"server-03": "web", "server-04": "web"})
    plan, _ = meanwhile(database, touch("server-03"), commit)
    assert isinstance(plan, Plan)
    assert (plan.changes, plan.left_alone) == (1, 1)


def test_when_all_changed_the_plan_is_kept_and_says_so(database: Database, snapshot: FleetSnapshot) -> None:
    with database.write() as tx:
        touch("server-03")(tx)
    plan = solve(database, snapshot, {"server-03": "web"})
    assert plan is not None
    assert (plan.changes, plan.left_alone) == (0, 1)


def test_a_grant_leaves_the_lineage_and_a_solve_leaves_the_grant(database: Database, snapshot: FleetSnapshot) -> None:
    granted = grant(database, snapshot, {"server-03": "web"})
    assert granted is not None
    assert granted.kind is PlanKind.GRANT
    assert read(database).target_plan_id == snapshot.target_plan_id
    solved = solve(database, snapshot, {"server-03": "batch", "server-04": "batch"})
    assert solved is not None
    assert (solved.changes, solved.left_alone) == (1, 1)
    assert targets(read(database))["server-03"] == "web"
    with database.snapshot() as tx:
        kinds = [plan.kind for plan in list_plans(tx, "west").items]
        assert kinds == [PlanKind.SOLVE, PlanKind.GRANT, PlanKind.IMPORT]
        assert [plan.plan_id for plan in list_plans(tx, "west", kind=PlanKind.GRANT).items] == [granted.plan_id]
        assert list_plans(tx, "west", before=granted.plan_id, limit=1).items[0].kind is PlanKind.IMPORT


def test_a_grant_is_all_or_nothing(database: Database, snapshot: FleetSnapshot) -> None:
    with database.write() as tx:
        touch("server-04")(tx)
    with pytest.raises(StaleGeneration) as stale:
        grant(database, snapshot, {"server-03": "web", "server-04": "web"})
    assert (stale.value.noun, stale.value.expected, stale.value.found) == ("server", 1, 2)
    assert "server-03" not in targets(read(database))
    assert grant(database, snapshot, {}) is None


def test_of_two_grants_of_one_free_server_exactly_one_wins(database: Database, snapshot: FleetSnapshot) -> None:
    first = committing(PlanKind.GRANT, snapshot, {"server-03": "web", "server-05": "web"})
    second = committing(PlanKind.GRANT, snapshot, {"server-05": "batch", "server-03": "batch"})
    outcomes = race(database, first, second)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Plan", "StaleGeneration"]
    winner = "web" if isinstance(outcomes[0], Plan) else "batch"
    bound = targets(read(database))
    assert bound["server-03"] == bound["server-05"] == winner


def test_a_release_frees_the_targets_of_a_deleted_reservation(database: Database, snapshot: FleetSnapshot) -> None:
    with database.write() as tx:
        released = delete(reservation_id(snapshot, "web"))(tx)
    assert isinstance(released, Plan)
    assert (released.kind, released.changes, released.left_alone) == (PlanKind.RELEASE, 1, 0)
    after = read(database)
    assert targets(after) == {"server-01": "batch", "server-02": "deleted"}
    assert after.target_plan_id == snapshot.target_plan_id
    with database.write() as tx:
        assert commit_release(tx, "west", reservation_id(snapshot, "web"), now=NOW) is None


def test_a_solve_binds_nothing_to_what_is_being_deleted(database: Database, snapshot: FleetSnapshot) -> None:
    commit = committing(PlanKind.SOLVE, snapshot, {"server-03": "web", "server-04": "batch"})
    plan, _ = meanwhile(database, delete(reservation_id(snapshot, "web")), commit)
    assert isinstance(plan, Plan)
    assert (plan.changes, plan.left_alone) == (1, 1)
    assert targets(read(database)) == {"server-01": "batch", "server-02": "deleted", "server-04": "batch"}


def test_a_deletion_releases_what_a_solve_is_binding(database: Database, snapshot: FleetSnapshot) -> None:
    commit = committing(PlanKind.SOLVE, snapshot, {"server-03": "web"})
    released, _ = meanwhile(database, commit, delete(reservation_id(snapshot, "web")))
    assert isinstance(released, Plan)
    assert released.changes == 2
    assert "server-03" not in targets(read(database))


def test_a_grant_to_what_was_deleted_is_refused(database: Database, snapshot: FleetSnapshot) -> None:
    with database.write() as tx:
        delete(reservation_id(snapshot, "web"))(tx)
    with pytest.raises(NotFound, match="no reservation"):
        grant(database, snapshot, {"server-03": "web"})


def test_whatever_changes_targets_wakes_the_mover(database: Database, snapshot: FleetSnapshot) -> None:
    commits: list[Write] = [
        committing(PlanKind.SOLVE, snapshot, {"server-03": "web"}),
        committing(PlanKind.GRANT, snapshot, {"server-04": "batch"}),
        committing(PlanKind.REPLACEMENT, snapshot, {"server-05": "batch"}),
        delete(reservation_id(snapshot, "web")),
    ]
    for commit in commits:
        with database.write() as tx:
            commit(tx)
            assert [(job.kind, job.subject) for job in list_jobs(tx).items] == [(MOVE, "west")]
            tx.execute(sa.text("DELETE FROM jobs"))
    with database.write() as tx:
        assert commit_release(tx, "west", reservation_id(snapshot, "web"), now=NOW) is None
        assert not list_jobs(tx).items


def test_only_solves_and_grants_come_from_a_snapshot(database: Database, snapshot: FleetSnapshot) -> None:
    with pytest.raises(ValueError, match="release"):
        write(database, committing(PlanKind.RELEASE, snapshot, {"server-03": "web"}))
    half = TargetPlan(target=snapshot.servers.target[:3], parent_plan_id=None)
    with database.write() as tx, pytest.raises(ValueError, match="one target for each server"):
        commit_plan(tx, snapshot, half, kind=PlanKind.GRANT, parent=None, now=NOW)
    with database.snapshot() as tx, pytest.raises(NotFound, match="no plan 999"):
        load_plan(tx, 999)
