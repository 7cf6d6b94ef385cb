"""Add revisions of places: which servers had their place when a planned event was allowed (design 0067).

All servers and events of before have revision 0, so each event covers the servers that it has now. Processes of the
previous version neither read nor write the columns: while they run, servers that enter maintenance may still be taken
unasked. Events that they allow cover no later place, and the next minute asks for the servers that they leave out.
"""

from __future__ import annotations

from alembic import op

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("servers", "rack_revision"),
    ("servers", "msb_revision"),
    ("servers", "datacenter_revision"),
    ("server_domains", "domain_revision"),
    ("unavailability_events", "covers_revision"),
)


def upgrade() -> None:
    op.execute("CREATE SEQUENCE place_revisions")
    for table, column in _COLUMNS:  # a constant default writes no row
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} bigint DEFAULT 0 NOT NULL")
    op.execute("ALTER TABLE unavailability_events ADD COLUMN newcomers jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE unavailability_events DROP COLUMN newcomers")
    for table, column in reversed(_COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    op.execute("DROP SEQUENCE place_revisions")
