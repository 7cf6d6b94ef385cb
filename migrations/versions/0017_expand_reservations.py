"""Add `reservations.priority`: the class of a reservation where capacity lacks.

Processes of the previous version neither read nor write it. They make reservations of the middle class, and solve as if
all were of one class.
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN priority bigint NOT NULL DEFAULT 2")
    op.execute("ALTER TABLE reservations ADD CONSTRAINT ck_reservations_priority CHECK (priority BETWEEN 0 AND 4)")


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN priority")
