"""Add `resource`, `units` and `loss` to reservation_waits: the measure and the loss that a wait is about.

They are null in waits that a process of the previous version wrote. Then the wait is told in RRU, and of an MSB.
"""

from __future__ import annotations

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE reservation_waits
            ADD COLUMN resource text NULL, ADD COLUMN units double precision NULL, ADD COLUMN loss text NULL""")


def downgrade() -> None:
    op.execute("ALTER TABLE reservation_waits DROP COLUMN resource, DROP COLUMN units, DROP COLUMN loss")
