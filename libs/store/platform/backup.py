"""The part of a backup and a restore that knows the database, and nothing of what is in it."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict

from libs.store.platform.database import Transaction

SKIPPED = 1_000_000
"""Identifiers that each sequence skips: more than a platform gives out between a backup and its restore."""
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}


def connection_environment(database_url: str) -> Mapping[str, str]:
    """Return the variables with which PostgreSQL's own programs connect. An argument would show the password to others.

    Raises ValueError if the URL has a parameter that has no variable here.
    """
    given = {name: str(value) for name, value in conninfo_to_dict(database_url).items()}
    unknown = sorted(given.keys() - _VARIABLES.keys())
    if unknown:
        raise ValueError(f"DATABASE_URL has the parameters {', '.join(unknown)}, which a backup does not know")
    return {_VARIABLES[name]: value for name, value in given.items()}


def is_empty(tx: Transaction) -> bool:
    """Return whether the database has no table."""
    return not sa.inspect(tx).get_table_names()


def skip_identifiers(tx: Transaction) -> None:
    """Let every sequence skip SKIPPED identifiers."""
    tx.execute(
        sa.text(
            "SELECT setval(format('%I.%I', schemaname, sequencename), coalesce(last_value, 0) + :skipped) "
            "FROM pg_sequences WHERE schemaname = current_schema()"
        ),
        {"skipped": SKIPPED},
    ).all()
