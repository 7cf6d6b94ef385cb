"""The rights of the role with which services work. It changes rows, and can change neither the schema nor the past."""

from __future__ import annotations

import sqlalchemy as sa
from psycopg.sql import SQL, Identifier

from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import metadata

APPEND_ONLY = ("audit_entries", "capacity_event_changes")
"""Tables of which services change and delete no row. Old audit entries go by FORGETTING."""
FORGETTING = "forget_audit_entries"
"""The function of the owner of the tables that deletes audit entries, none of the last 30 days."""


def grant_service_role(tx: Transaction, role: str) -> None:
    """Give an existing role exactly the rights that services need on the tables of this version. Raises NotFound.

    The caller is the owner of the tables: the role that migrates.
    """
    known = tx.execute(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).scalar()
    if known is None:
        raise NotFound("role", role)
    changed = sorted(set(metadata.tables) - set(APPEND_ONLY))
    statements = [
        SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}"),
        SQL("GRANT USAGE ON SCHEMA public TO {role}"),
        SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"),
        SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}"),
        SQL("GRANT INSERT ON {appended} TO {role}"),
        SQL("GRANT INSERT, UPDATE, DELETE ON {changed} TO {role}"),
        SQL("REVOKE ALL ON FUNCTION {forgetting} FROM PUBLIC"),  # a restore brings no rights
        SQL("GRANT EXECUTE ON FUNCTION {forgetting} TO {role}"),
    ]
    names = {
        "role": Identifier(role),
        "appended": SQL(", ").join(map(Identifier, APPEND_ONLY)),
        "forgetting": Identifier(FORGETTING),
        "changed": SQL(", ").join(map(Identifier, changed)),
    }
    for statement in statements:
        tx.execute(sa.text(statement.format(**names).as_string(None)))
