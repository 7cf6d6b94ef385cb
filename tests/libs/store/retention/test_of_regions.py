"""Rows that are over and old go; rows in force stay, however old they are."""

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database, Transaction
from libs.store.retention.batches import forget_all
from libs.store.retention.of_planning import OF_WORLD
from libs.store.retention.of_regions import of_region
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

OLD, YOUNG = NOW - timedelta(days=200), NOW - timedelta(days=5)
BEFORE = NOW - timedelta(days=90)
REQUEST = """
    INSERT INTO capacity_requests (region_id, kind, reservation_name, reservation_id, owner, spec, phase, reason,
        message, numbers, requested_by, created_at, changed_at)
    SELECT region_id, 'resize', 'web', CASE WHEN :bound THEN reservation_id END, 'o', '{}', :phase, 'r', 'm', '{}',
        'olga', :at, :at FROM reservations WHERE name = 'web' RETURNING capacity_request_id"""
APPROVAL = """
    INSERT INTO approvals (region_id, capacity_request_id, kind, status, causes, change, asked_by, created_at,
        decided_at)
    SELECT region_id, :request, :kind, :status, '[]', '{}', '{}', :at, :at FROM regions RETURNING approval_id"""
RUN = """
    INSERT INTO solve_runs (region_id, trigger, status, seed, progress, report, started_at, finished_at)
    SELECT region_id, 'schedule', :status, 1, '[]', '{}', :at, :at FROM regions RETURNING solve_run_id"""
PLAN = """
    INSERT INTO plans (region_id, parent_plan_id, kind, solve_run_id, capacity_request_id, changes, left_alone,
        created_at)
    SELECT region_id, (SELECT max(plan_id) FROM plans), :kind, :run, :request, 0, 0, :at
    FROM regions RETURNING plan_id"""
EVENT = """
    INSERT INTO unavailability_events (region_id, scope, server_id, kind, reason, starts_at, ended_at)
    SELECT region_id, 'server', min(server_id), 'unplanned', 'broke', :at, :ended FROM servers GROUP BY region_id
    RETURNING unavailability_event_id"""
RETIREMENT = """
    INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, status, created_at, finished_at)
    SELECT region_id, 'server', min(server_id), 'decommission', 'old', :at, :status, :at, :finished FROM servers
    GROUP BY region_id RETURNING retirement_id"""
SIMULATION = """
    INSERT INTO simulations (region_id, requested_by, what_if, status, progress, created_at, finished_at,
        applied_plan_id, applied_at)
    SELECT region_id, 'olga', '{}', 'done', '[]', :at, :at, CAST(:plan AS bigint), :applied
    FROM regions RETURNING simulation_id"""
IMPORT = """
    INSERT INTO imports (region_id, mode, status, counts, attributes, proposed_by, created_at, decided_at)
    SELECT region_id, 'merge', :status, '{}', '{}', 'olga', :at, :decided FROM regions RETURNING import_id"""
ITEM = """
    INSERT INTO import_items (import_id, item_index, action, server) VALUES (:id, 0, 'add', 's') RETURNING import_id"""


@pytest.fixture
def west(database: Database) -> Database:
    specs = {"web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})}
    stored(database, region_image(reservations=specs, current={"server-00": "web"}, target={"server-00": "web"}))
    return database


def put(tx: Transaction, statement: str, **values: object) -> int:
    return int(tx.execute(sa.text(statement), values).scalar_one())


def forget(database: Database, most: int = 2) -> int:
    return forget_all(database, of_region("west"), before=BEFORE, most=most)


def ids(database: Database, table: str) -> set[int]:
    with database.snapshot() as tx:
        return set(tx.execute(sa.text(f"SELECT {table[:-1]}_id FROM {table}")).scalars())


def test_events_retirements_imports_and_simulations_go_when_they_are_over(west: Database) -> None:
    with west.write() as tx:
        for _ in range(5):
            put(tx, EVENT, at=OLD, ended=OLD)
            put(tx, RETIREMENT, at=OLD, status="done", finished=OLD)
            put(tx, ITEM, id=put(tx, IMPORT, status="confirmed", at=OLD, decided=OLD))
            put(tx, SIMULATION, at=OLD, plan=None, applied=None)
        stay = {
            "unavailability_events": {put(tx, EVENT, at=OLD, ended=None), put(tx, EVENT, at=OLD, ended=YOUNG)},
            "retirements": {
                put(tx, RETIREMENT, at=OLD, status="announced", finished=None),
                put(tx, RETIREMENT, at=OLD, status="cancelled", finished=YOUNG),
            },
            "imports": {put(tx, IMPORT, status="confirmed", at=OLD, decided=YOUNG)},
            "simulations": {put(tx, SIMULATION, at=YOUNG, plan=None, applied=None)},
        }
        put(tx, ITEM, id=put(tx, IMPORT, status="proposed", at=OLD, decided=None))  # undecided
    assert forget(west) == 5 * 4 + 1
    assert {table: ids(west, table) for table in stay} == stay
    assert forget(west) == 0


def test_a_batch_is_bounded_by_what_goes_with_its_rows(west: Database) -> None:
    with west.write() as tx:
        for size in (3, 3, 9, 1):
            made = put(tx, IMPORT, status="confirmed", at=OLD, decided=OLD)
            tx.execute(
                sa.text(
                    "INSERT INTO import_items (import_id, item_index, action, server) "
                    "SELECT :id, n, 'add', 's' FROM generate_series(1, :size) AS n"
                ),
                {"id": made, "size": size},
            )
    for left in (13, 10):
        with west.write() as tx:
            assert of_region("west")["imports"](tx, before=BEFORE, most=4) == 1
            assert tx.execute(sa.text("SELECT count(*) FROM import_items")).scalar_one() == left
    assert forget(west, most=4) == 2, "an import goes whole, however large it is"
    assert not ids(west, "imports")


def test_a_table_that_cannot_be_deleted_from_does_not_stop_the_others(west: Database) -> None:
    with west.write() as tx:
        put(tx, EVENT, at=OLD, ended=OLD)

    def fail(tx: Transaction, /, *, before: datetime, most: int) -> int:
        raise TimeoutError("the statement took too long")

    with pytest.raises(TimeoutError, match="too long"):
        forget_all(west, {**of_region("west"), "imports": fail}, before=BEFORE)
    assert not ids(west, "unavailability_events")


def test_plans_and_runs_go_up_to_the_latest_solve(west: Database) -> None:
    [imported] = ids(west, "plans")
    with west.write() as tx:
        runs = [put(tx, RUN, status="committed", at=OLD) for _ in range(2)]
        plans = [put(tx, PLAN, kind="solve", run=run, request=None, at=OLD) for run in runs]
        tx.execute(sa.text("UPDATE regions SET target_plan_id = :plan"), {"plan": plans[1]})
        failed = [put(tx, RUN, status="failed", at=OLD) for _ in range(3)]
        applied = put(tx, SIMULATION, at=OLD, plan=plans[0], applied=YOUNG)
        tx.execute(sa.text("SET LOCAL plimsoll.forgetting = 'on'"))
        tx.execute(sa.text("DELETE FROM plan_changes"))
    assert forget(west) == 2, "two runs that failed; the last run stays, and the import is younger"
    assert ids(west, "solve_runs") == {*runs, failed[2]}
    assert ids(west, "plans") == {imported, *plans}, "a plan that a simulation made stays as long as it"
    with west.write() as tx:
        tx.execute(sa.text("UPDATE simulations SET applied_at = :old"), {"old": OLD})
    assert forget(west) == 3, "the simulation, then its plan, then the plan's run"
    assert ids(west, "plans") == {imported, plans[1]}
    assert ids(west, "solve_runs") == {runs[1], failed[2]}
    assert applied not in ids(west, "simulations")


def test_requests_and_approvals_go_when_nothing_rests_on_them(west: Database) -> None:
    with west.write() as tx:
        replaced = put(tx, REQUEST, bound=True, phase="granted", at=OLD)
        rejected = put(tx, REQUEST, bound=False, phase="rejected", at=OLD)
        put(tx, APPROVAL, request=rejected, kind="capacity_request", status="rejected", at=OLD)
        scheduled = put(tx, REQUEST, bound=True, phase="scheduled", at=OLD)
        latest = put(tx, REQUEST, bound=True, phase="granted", at=OLD)
        put(tx, APPROVAL, request=None, kind="region_policy", status="approved", at=OLD)
        stay = {
            put(tx, APPROVAL, request=scheduled, kind="capacity_request", status="approved", at=OLD),
            put(tx, APPROVAL, request=None, kind="region_policy", status="pending", at=OLD),
            put(tx, APPROVAL, request=None, kind="below_hold", status="approved", at=OLD),
            put(tx, APPROVAL, request=latest, kind="capacity_request", status="approved", at=YOUNG),
        }
    assert forget(west) == 4
    assert ids(west, "approvals") == stay
    assert ids(west, "capacity_requests") == {scheduled, latest}
    assert replaced not in ids(west, "capacity_requests")


@pytest.mark.parametrize(
    ("phases", "stay"),
    [
        (["granted", "degraded"], [0, 1]),
        (["granted", "granted", "degraded", "degraded", "rejected"], [1, 3]),
        (["degraded", "rejected"], [0]),
        (["degraded", "withdrawn", "granted", "scheduled"], [2, 3]),
    ],
)
def test_what_a_live_reservation_was_last_granted_stays(west: Database, phases: list[str], stay: list[int]) -> None:
    with west.write() as tx:
        made = [put(tx, REQUEST, bound=True, phase=phase, at=OLD) for phase in phases]
    forget(west)
    assert ids(west, "capacity_requests") == {made[k] for k in stay}


def test_a_fall_below_the_promise_that_was_rejected_goes(west: Database) -> None:
    with west.write() as tx:
        for status in ("rejected", "superseded"):
            put(tx, APPROVAL, request=None, kind="below_hold", status=status, at=OLD)
        approved = put(tx, APPROVAL, request=None, kind="below_hold", status="approved", at=OLD)
    assert forget(west) == 2
    assert ids(west, "approvals") == {approved}


def test_a_request_stays_with_its_plan(west: Database) -> None:
    with west.write() as tx:
        request = put(tx, REQUEST, bound=False, phase="rejected", at=OLD)
        put(tx, PLAN, kind="grant", run=None, request=request, at=OLD)
    assert forget(west) == 0


def test_what_is_not_old_enough_cannot_be_deleted_by_accident(west: Database) -> None:
    with west.write() as tx, pytest.raises(sa.exc.IntegrityError, match="append-only"):
        tx.execute(sa.text("DELETE FROM plans"))


def test_of_what_belongs_to_no_region_the_past_goes(west: Database) -> None:
    with west.write() as tx:
        for ends, ended in ((OLD, None), (YOUNG, OLD), (YOUNG, None)):
            tx.execute(
                sa.text(
                    "INSERT INTO freezes (scope, starts_at, ends_at, reason, created_by, created_at, ended_at) "
                    "VALUES ('all', :starts, :ends, 'r', 'olga', :starts, :ended)"
                ),
                {"starts": OLD - timedelta(days=1), "ends": ends, "ended": ended},
            )
        for expires, withdrawn in ((OLD, None), (None, OLD), (None, None), (YOUNG, None)):
            tx.execute(
                sa.text(
                    "INSERT INTO plan_overrides (kind, subject, region, least, reason, expires_at, created_by, "
                    "created_at, withdrawn_by, withdrawn_at) VALUES ('presence', 'p', 'west', 1, 'r', :expires, "
                    "'olga', :old, CASE WHEN CAST(:withdrawn AS timestamptz) IS NULL THEN NULL ELSE 'olga' END, "
                    ":withdrawn)"
                ),
                {"expires": expires, "withdrawn": withdrawn, "old": OLD},
            )
        for status, due in (("sent", OLD), ("unknown", OLD), ("due", OLD), ("sent", YOUNG)):
            tx.execute(
                sa.text(
                    "INSERT INTO approval_reminders (recipient, due_at, status, attempts, waiting, oldest_at) "
                    "VALUES (:status, :due, :status, 1, 1, :due)"
                ),
                {"status": status, "due": due},
            )
    assert forget_all(west, OF_WORLD, before=BEFORE, most=1) == 2 + 2 + 2
    assert len(ids(west, "freezes")) == 1
    assert len(ids(west, "plan_overrides")) == 2
