"""Add `reservations.survives_loss_of`: the further kinds of domain whose loss a reservation survives (design 0051).

Processes of the previous version do not know it, and may move servers against it. So let no reservation name a kind
while such processes run. The next solve mends what they moved.
"""

from __future__ import annotations

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN survives_loss_of text[] NOT NULL DEFAULT '{}'")
    op.execute("""
        CREATE INDEX ix_reservations_survives_loss_of ON reservations (region_id)
            WHERE survives_loss_of <> '{}' AND deleted_at IS NULL
        """)


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN survives_loss_of")
