"""Restore a backup of a database in use: the same rows are there, no identifier comes twice, and no server moves."""

import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from libs.reconcile.clock import SystemClock
from libs.store.moves.movers import load_mover
from libs.store.platform import audit
from libs.store.platform.backup import SKIPPED, connection_environment
from libs.store.platform.database import Database
from libs.store.platform.health import check_database
from libs.store.regions.region_import import import_region
from services.standalone.backup import BackupFailed, back_up, database_of, restore
from services.standalone.postgres import url_of_running
from services.standalone.settings import StandaloneSettings
from tests.builders.region import region_image


@pytest.fixture
def filled(database_url: str) -> str:
    database = Database(database_url)
    with database.write() as tx:
        for name in ("west", "east"):
            import_region(tx, region_image(name), actor="test", now=SystemClock().now())
    database.close()
    return database_url


def contents(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table but those that a restore writes itself."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        tables = {name for (name,) in found} - {"movers", "audit_entries", "region_conditions"}
        return {name: sorted(connection.execute(f"SELECT t::text FROM {name} t").fetchall()) for name in tables}  # type: ignore[arg-type]


def test_what_was_saved_is_there_again_and_no_server_moves(
    filled: str, empty_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    assert back_up(filled, file) == file.stat().st_size > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert restore(empty_database_url, file) == ["west", "east"]
    saved = contents(filled)
    assert sum(map(len, saved.values())) > 30
    assert contents(empty_database_url) == saved
    database = Database(empty_database_url)
    assert check_database(database) is None
    with database.snapshot() as tx:
        for region in ("west", "east"):
            assert "restored from a backup of 2" in (load_mover(tx, region).paused_reason or "")
    database.close()


def test_no_identifier_is_given_twice(filled: str, empty_database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    back_up(filled, file)
    restore(empty_database_url, file)
    new = "SELECT nextval(pg_get_serial_sequence('moves', 'move_id'))"
    with psycopg.connect(filled) as before, psycopg.connect(empty_database_url) as after:
        given = before.execute(new).fetchone()
        next_one = after.execute(new).fetchone()
    assert given is not None
    assert next_one is not None
    assert next_one[0] >= given[0] + SKIPPED - 1


def test_a_backup_of_a_busy_platform_is_one_moment(filled: str, empty_database_url: str, tmp_path: Path) -> None:
    """Each transaction writes a pair. A backup that saw two moments would hold half of one."""
    database, stop, began = Database(filled), threading.Event(), threading.Event()
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            if number == 10:
                began.set()
            with database.write() as tx:
                for half in ("first", "second"):
                    audit.append(
                        tx, actor=half, action="pair", subject_kind="region", subject_id=number, now=now, after={}
                    )

    writer = threading.Thread(target=write)
    writer.start()
    try:
        began.wait()
        back_up(filled, tmp_path / "backup")
    finally:
        stop.set()
        writer.join()
        database.close()
    restore(empty_database_url, tmp_path / "backup")
    with psycopg.connect(empty_database_url) as connection:
        halves = connection.execute(
            "SELECT count(*) FROM audit_entries WHERE action = 'pair' GROUP BY subject_id"
        ).fetchall()
    assert {count for (count,) in halves} == {2}


def test_a_restore_touches_no_database_in_use(filled: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "backup")
    before = contents(filled)
    with pytest.raises(BackupFailed, match="is not empty: restore into a new one"):
        restore(filled, tmp_path / "backup")
    assert contents(filled) == before


def test_what_is_no_backup_or_too_new_is_refused(filled: str, empty_database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_bytes(b"no archive")
    with pytest.raises(BackupFailed, match=r"pg_restore failed: .*valid archive"):
        restore(empty_database_url, file)
    with psycopg.connect(filled) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    back_up(filled, file)
    with pytest.raises(BackupFailed, match="has the schema 9999, and this version knows"):
        restore(empty_database_url, file)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_failed_backup_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="pg_dump failed"):
        back_up("postgresql://user:s3cret@127.0.0.1:1/none", tmp_path / "backup")
    with pytest.raises(BackupFailed, match="cannot write"):
        back_up("postgresql://user:s3cret@127.0.0.1:1/none", tmp_path / "none" / "backup")
    assert os.listdir(tmp_path) == []


def test_an_embedded_database_is_found_whether_it_runs_or_not(tmp_path: Path) -> None:
    settings = StandaloneSettings.model_construct(state_dir=tmp_path, database_url=None)
    home = tmp_path / "postgres"
    assert url_of_running(home) is None
    with database_of(settings) as started:
        assert url_of_running(home) == started
        with database_of(settings) as found:
            assert found == started
        with psycopg.connect(found) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert url_of_running(home) is None


def test_the_password_is_no_argument() -> None:
    hosts = "host=first,second&port=5433,5434&target_session_attrs=read-write"
    url = f"postgresql://user:s3cret@/name?sslmode=require&{hosts}"
    assert connection_environment(url) == {
        "PGUSER": "user",
        "PGPASSWORD": "s3cret",
        "PGHOST": "first,second",
        "PGPORT": "5433,5434",
        "PGDATABASE": "name",
        "PGSSLMODE": "require",
        "PGTARGETSESSIONATTRS": "read-write",
    }
    with pytest.raises(ValueError, match="application_name") as refused:
        connection_environment(f"{url}&application_name=any")
    assert "s3cret" not in str(refused.value)
