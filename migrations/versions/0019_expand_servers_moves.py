"""Add `servers.churns` and `moves.churned_at`: what counts against the churn budget of a region.

The budget counts from the migration on. Processes of the previous version neither read nor write the columns: the moves
that they plan and carry out do not count.
"""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE servers ADD COLUMN churns boolean NOT NULL DEFAULT false")
    op.execute("CREATE INDEX ix_servers_churns ON servers (region_id) WHERE churns")
    op.execute("ALTER TABLE moves ADD COLUMN churned_at timestamp with time zone")
    op.execute("CREATE INDEX ix_moves_churned ON moves (region_id, churned_at) WHERE churned_at IS NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE moves DROP COLUMN churned_at")
    op.execute("ALTER TABLE servers DROP COLUMN churns")
