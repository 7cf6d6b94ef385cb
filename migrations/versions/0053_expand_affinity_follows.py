"""Add `reservations.affinity_follows`: the reservation whose shares of datacenters another one follows (design 0060).

Processes of the previous version keep the last shares, and a resize by them keeps the name.
"""

from __future__ import annotations

from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN affinity_follows text")
    op.execute(
        "CREATE INDEX ix_reservations_affinity_follows ON reservations (region_id) "
        "WHERE affinity_follows IS NOT NULL AND deleted_at IS NULL"
    )


def downgrade() -> None:
    op.execute("DROP INDEX ix_reservations_affinity_follows")
    op.execute("ALTER TABLE reservations DROP COLUMN affinity_follows")
