"""Add `servers.datacenter_revision`: since when a server stands in its datacenter (design 0067).

A move to another MSB of a datacenter in maintenance then leaves the server in that maintenance. All servers of before
have revision 0, so each event of a datacenter covers those that it has now. Processes of the previous version do not
write the column: while they run, maintenance of a datacenter takes the servers that they bring in unasked.
"""

from __future__ import annotations

from alembic import op

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # a constant default writes no row
    op.execute("ALTER TABLE servers ADD COLUMN datacenter_revision bigint DEFAULT 0 NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE servers DROP COLUMN datacenter_revision")
