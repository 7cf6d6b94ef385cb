"""The role of services works, and changes neither the schema nor the past."""

import uuid

import psycopg
import pytest
import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.refusals import NotFound
from libs.store.platform.service_role import APPEND_ONLY, grant_service_role
from libs.store.tables import metadata


def test_a_role_that_is_not_there_is_named(database_url: str) -> None:
    database = Database(database_url)
    with pytest.raises(NotFound, match="nowhere"), database.write() as tx:
        grant_service_role(tx, "nowhere")
    database.close()


@pytest.fixture
def role(database_url: str):
    """The name of a role with the rights of services."""
    name = f"services_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(database_url, autocommit=True) as owner:
        if not owner.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()[0]:
            pytest.skip("the embedded PostgreSQL lets no test make roles; ./scripts/test --real runs this")
        owner.execute(f"CREATE ROLE {name}")
        database = Database(database_url)
        with database.write() as tx:
            grant_service_role(tx, name)
            grant_service_role(tx, name)
        database.close()
        yield name
        owner.execute(f"DROP OWNED BY {name}")
        owner.execute(f"DROP ROLE {name}")


def test_it_may_do_what_services_do_and_no_more(database_url: str, role: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"SET ROLE {role}")
        for table in metadata.tables:
            allowed = {
                right
                for right in ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "TRIGGER", "REFERENCES")
                if connection.execute("SELECT has_table_privilege(%s, %s)", [table, right]).fetchone()[0]
            }
            assert allowed == {"SELECT", "INSERT"} | (set() if table in APPEND_ONLY else {"UPDATE", "DELETE"}), table
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        for forbidden in (
            "CREATE TABLE mine (x int)",
            "DROP TABLE servers",
            "ALTER TABLE servers ADD COLUMN x int",
            "UPDATE alembic_version SET version_num = '0'",
            "UPDATE audit_entries SET actor = 'nobody'",
            "DELETE FROM audit_entries",
            "SET plimsoll.forgetting = 'on'; DELETE FROM audit_entries",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden)


def test_it_may_delete_audit_entries_of_long_ago_and_no_others(database_url: str, role: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for days in (31, 29):
            connection.execute(
                "INSERT INTO audit_entries (at, actor, action, subject_kind, subject_id) "
                "VALUES (now() - make_interval(days => %s), 'olga', 'import', 'region', 1)",
                [days],
            )
        connection.execute(f"SET ROLE {role}")
        forget = "SELECT forget_audit_entries(array(SELECT audit_entry_id FROM audit_entries))"
        assert connection.execute(forget).fetchone() == (1,)
        assert connection.execute("SELECT now() - at < interval '30 days' FROM audit_entries").fetchall() == [(True,)]


def test_append_only_tables_exist() -> None:
    assert set(APPEND_ONLY) <= set(metadata.tables)
    assert isinstance(metadata.tables[APPEND_ONLY[0]], sa.Table)
