"""Migrate a database with data, one migration after the other, while processes of the previous version read and write.

Old processes are their statements here: every query and insert by the columns that were there before the migration.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.script import ScriptDirectory

from libs.store.capacity.capacity_requests import list_capacity_requests
from libs.store.fleet.servers import list_servers
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.move_history import list_moves
from libs.store.plans.plans import list_plans
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.platform.health import check_database
from libs.store.platform.migrate import OldProcessesRun, migrate

SEED = """
    INSERT INTO regions (name, policy, created_at) VALUES ('west', '{}', now());
    INSERT INTO datacenters (region_id, name) SELECT region_id, 'dc' FROM regions;
    INSERT INTO msbs (region_id, datacenter_id, name) SELECT region_id, datacenter_id, 'msb' FROM datacenters;
    INSERT INTO racks (region_id, msb_id, name) SELECT region_id, msb_id, 'rack' FROM msbs;
    INSERT INTO hardware_types (name, attributes, created_at) VALUES ('hw-a', '{}', now());
    INSERT INTO reservations (region_id, name, kind, owner, host_profile, unit, capacity_rru, survives_msb_loss,
        created_at) SELECT region_id, 'web', 'guaranteed', 'team', 'default', 'rru', 2, false, now() FROM regions;
    INSERT INTO reservation_rru SELECT reservation_id, hardware_type_id, 1.5 FROM reservations, hardware_types;
    INSERT INTO servers (region_id, name, rack_id, hardware_type_id, current_reservation_id, target_reservation_id)
        SELECT racks.region_id, 'server-' || n, rack_id, hardware_type_id,
            CASE WHEN n < 3 THEN reservation_id END, CASE WHEN n < 4 THEN reservation_id END
        FROM racks, hardware_types, reservations, generate_series(0, 5) AS n;
    INSERT INTO solve_runs (region_id, trigger, status, seed, progress, started_at, finished_at)
        SELECT region_id, 'schedule', 'committed', 1, '[]', now(), now() FROM regions;
    INSERT INTO capacity_requests (region_id, kind, reservation_name, reservation_id, owner, spec, phase, reason,
        message, numbers, requested_by, created_at, changed_at)
        SELECT region_id, 'create', 'web', reservation_id, 'team',
            '{"capacity_rru": 2, "unit": "rru", "rru": {"hw-a": 1.5}}', 'granted', 'Granted', 'granted', '{}', 'olga',
            now(), now() FROM reservations;
    INSERT INTO plans (region_id, kind, solve_run_id, changes, left_alone, created_at)
        SELECT region_id, 'solve', solve_run_id, 1, 0, now() FROM solve_runs;
    INSERT INTO plan_changes SELECT plan_id, server_id, NULL, target_reservation_id FROM plans, servers
        WHERE name = 'server-3';
    UPDATE regions SET target_plan_id = plan_id FROM plans;
    INSERT INTO moves (region_id, server_id, to_reservation_id, steps, status, step_started_at, created_at)
        SELECT region_id, server_id, target_reservation_id, '{join}', 'running', now(), now() FROM servers
        WHERE name = 'server-3';
    INSERT INTO unavailability_events (region_id, scope, server_id, kind, reason, starts_at)
        SELECT region_id, 'server', server_id, 'unplanned', 'disk', now() FROM servers WHERE name = 'server-5';
    UPDATE servers SET unavailability = 'unplanned' WHERE name = 'server-5';
    INSERT INTO tokens (name, secret_sha256, role, created_at) VALUES ('first', '\\x00', 'admin', now());
    INSERT INTO audit_entries (at, actor, action, subject_kind, subject_id)
        VALUES (now(), 'olga', 'import', 'region', 1)"""
COLUMNS = """
    SELECT table_name, column_name, is_identity FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'alembic_version' ORDER BY table_name, ordinal_position"""
NEEDED = """
    SELECT table_name || '.' || column_name FROM information_schema.columns
    WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'"""
SCRIPTS = ScriptDirectory(str(Path(__file__).parents[4] / "migrations"))
STEPS = [one.revision for one in reversed(list(SCRIPTS.walk_revisions()))]
STOPPING = [one.revision for one in SCRIPTS.walk_revisions() if hasattr(one.module, "old_processes_stop")]


class OldReader:
    """Reads every column of every table that was there at the start, again and again, as a process of before does."""

    def __init__(self, url: str) -> None:
        self._url, self._over, self._looked = url, threading.Event(), threading.Event()
        with psycopg.connect(url, application_name="reader") as connection:
            columns: dict[str, list[str]] = {}
            for table, column, _ in connection.execute(COLUMNS):
                columns.setdefault(table, []).append(f'"{column}"')
        self._queries = [f"SELECT {', '.join(found)} FROM {table}" for table, found in columns.items()]
        self.rounds, self.failure = 0, ""
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "OldReader":
        self._thread.start()
        assert self._looked.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._looked.clear()
        assert self._looked.wait(60), "one whole look after the migration"
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with psycopg.connect(self._url, application_name="reader", autocommit=True) as connection:
            while not self._over.is_set():
                seen = self._looked.is_set()
                try:
                    for query in self._queries:
                        connection.execute(query).fetchall()
                except psycopg.Error as error:
                    self.failure = f"{query}: {error}"
                    self._looked.set()
                    return
                self.rounds += 1
                if not seen:
                    self._looked.set()


@pytest.fixture
def seeded(empty_database_url: str) -> str:
    """A database at the first migration, with a region, a request, a plan, a move and an event."""
    migrate(empty_database_url, to="0001")
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(SEED)
    return empty_database_url


def needed(url: str) -> set[str]:
    """Return the columns that an insert must name."""
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute(NEEDED)}


def test_each_migration_leaves_old_statements_valid_and_the_data_readable(seeded: str) -> None:
    first = SCRIPTS.get_revision("0001")
    assert first is not None
    for step in STEPS[1:]:
        with psycopg.connect(seeded) as connection:
            tables = {table for table, _, _ in connection.execute(COLUMNS)}
        before = needed(seeded)
        with OldReader(seeded) as reader:
            migrate(seeded, to=step, beside=True)
        assert not reader.failure, f"an old reader fails after {step}: {reader.failure}"
        demanded = {one for one in needed(seeded) - before if one.split(".")[0] in tables}
        assert not demanded, f"{step} demands {demanded}, which old processes do not write"
    database = Database(seeded)
    assert check_database(database) is None
    with database.snapshot() as tx:
        fleet = load_fleet_snapshot(tx, "west")
        assert list(fleet.reservations.name) == ["web"]
        assert sorted(fleet.servers.current.tolist()) == [-1, -1, -1, 0, 0, 0]
        assert [server.name for server in list_servers(tx, "west").items][-1] == "server-5"
        [request] = list_capacity_requests(tx).items
        assert request.spec.rru == {"hw-a": 1.5}
        [plan] = list_plans(tx, "west").items
        assert (plan.changes, fleet.target_plan_id) == (1, plan.plan_id)
        [move] = list_moves(tx).items
        assert (move.server, move.steps) == ("server-3", ("join",))
        assert [entry.actor for entry in audit.list_entries(tx).items] == ["olga"]
    database.close()


@pytest.fixture
def old_process(empty_database_url: str) -> Iterator[str]:
    """A database at 0015 to which a process of that version is connected."""
    migrate(empty_database_url, to="0015")
    with psycopg.connect(empty_database_url):
        yield empty_database_url


def test_migrations_that_need_old_processes_stopped_wait_for_that(old_process: str) -> None:
    assert sorted(STOPPING) == ["0016", "0020", "0022", "0025"]
    with pytest.raises(OldProcessesRun, match=r"1 connections .* 0016 \(brokers and movers .* 0020 .* 0022 .* 0025"):
        migrate(old_process)
    database = Database(old_process)
    assert "has the schema 0015" in str(check_database(database)), "nothing was migrated, and no new process is ready"
    database.close()
    migrate(old_process, to="0019", beside=True)
    with pytest.raises(OldProcessesRun, match="0020"):
        migrate(old_process, to="0021")
    migrate(old_process, beside=True)


def test_they_do_not_wait_for_other_programs_nor_where_none_is_missing(old_process: str) -> None:
    with psycopg.connect(old_process, application_name="psql") as other:
        other.execute("SELECT 1")
        migrate(old_process, to="0025", beside=True)
        migrate(old_process)  # though the old process is connected
