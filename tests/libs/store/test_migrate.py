import threading

import psycopg

from libs.store.migrate import migrate


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
