import threading
from pathlib import Path

import psycopg
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from libs.store.platform.migrate import migrate


def _tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def test_a_fresh_database_gets_the_schema_and_a_second_run_changes_nothing(empty_database_url: str) -> None:
    migrate(empty_database_url)
    tables = _tables(empty_database_url)
    assert {"alembic_version", "servers"} <= tables
    migrate(empty_database_url)
    assert _tables(empty_database_url) == tables


def test_several_migrate_at_once(empty_database_url: str) -> None:
    failures: list[Exception] = []

    def run() -> None:
        try:
            migrate(empty_database_url)
        except Exception as failure:  # a thread's exception would be lost
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert "servers" in _tables(empty_database_url)


def test_each_test_has_a_database_of_its_own(database_url: str, empty_database_url: str) -> None:
    assert database_url != empty_database_url
    assert _tables(empty_database_url) == set()
    assert "servers" in _tables(database_url)


def _downgrade(url: str, to: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[4] / "migrations"))
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, to)


OLD_REGION = "INSERT INTO regions (name, policy, created_at) VALUES (%s, '{}', now())"
OLD_SCHEDULE = """
    INSERT INTO schedules (region_id, kind, interval_s, next_at) SELECT region_id, 'solve', 3600, now() FROM regions
    ON CONFLICT (region_id, kind) DO UPDATE SET interval_s = EXCLUDED.interval_s"""


def test_regions_with_periods_live_beside_processes_that_know_none(empty_database_url: str) -> None:
    """Migrate to 0013 and back: writes of the version before are valid on either side, and generations keep rising."""

    def generation(connection: psycopg.Connection, change: str) -> int:
        connection.execute(f"UPDATE regions SET {change} WHERE name = 'west'")
        [found] = connection.execute("SELECT generation FROM regions WHERE name = 'west'").fetchone() or [0]
        return int(found)

    migrate(empty_database_url, to="0012")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(OLD_REGION, ["west"])
    migrate(empty_database_url, to="0013")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(OLD_REGION, ["east"])
        connection.execute(OLD_SCHEDULE)
        connection.execute(OLD_SCHEDULE)
        assert connection.execute("SELECT DISTINCT solve_every_s FROM regions").fetchall() == [(None,)]
        assert generation(connection, "solve_every_s = 60") == 2
        assert generation(connection, """policy = '{"buffer_cost": 2}'""") == 3
        assert generation(connection, "target_plan_id = NULL") == 3
    _downgrade(empty_database_url, "0012")
    with psycopg.connect(empty_database_url) as connection:
        assert generation(connection, """policy = '{"buffer_cost": 3}'""") == 4
        connection.execute(OLD_SCHEDULE)
    migrate(empty_database_url)


OLD_RESERVATION = """
    INSERT INTO reservations
        (region_id, name, kind, owner, host_profile, unit, capacity_rru, survives_msb_loss, created_at)
    SELECT region_id, 'loan', 'elastic', 'batch', 'default', 'rru', 4, false, now() FROM regions"""


def test_an_elastic_reservation_becomes_one_that_can_be_read_and_changed(empty_database_url: str) -> None:
    migrate(empty_database_url, to="0013")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(OLD_REGION, ["west"])
        connection.execute(OLD_RESERVATION)
    migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT kind FROM reservations").fetchall() == [("guaranteed",)]


def test_what_was_imported_before_is_known_unless_a_resize_has_overwritten_it(empty_database_url: str) -> None:
    """No generation rises, so no request of an owner becomes stale."""
    migrate(empty_database_url, to="0058")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(OLD_REGION, ["west"])
        for name, kind in (("web", "guaranteed"), ("resized", "guaranteed"), ("spare", "shared_buffer")):
            connection.execute(
                """
                INSERT INTO reservations (region_id, name, kind, owner, host_profile, unit, capacity_rru,
                    survives_msb_loss, created_at)
                SELECT region_id, %s, %s, 'team', 'default', 'rru', 2, false, now() FROM regions""",
                [name, kind],
            )
        connection.execute(
            """
            INSERT INTO capacity_requests (region_id, kind, reservation_name, reservation_id, owner, spec, phase,
                reason, message, numbers, requested_by, created_at, changed_at)
            SELECT region_id, 'resize', name, reservation_id, owner, '{"capacity_rru": 2}',
                CASE name WHEN 'web' THEN 'rejected' ELSE 'degraded' END, '', '', '{}', 'olga', now(), now()
            FROM reservations WHERE kind = 'guaranteed'"""
        )
    migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        found = connection.execute("SELECT name, imported_rru, generation FROM reservations ORDER BY name").fetchall()
        assert found == [("resized", None, 1), ("spare", None, 1), ("web", 2.0, 1)]
        connection.execute("UPDATE reservations SET capacity_rru = 3 WHERE name = 'web'")
        assert connection.execute("SELECT generation FROM reservations WHERE name = 'web'").fetchone() == (2,)
    _downgrade(empty_database_url, "0058")
