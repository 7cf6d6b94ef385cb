"""Add `reservations.move_cost`: the factor of a reservation on the costs of moving its servers.

Processes of the previous version neither read nor write it. They make reservations with the factor 1, and solve as if
all had it.
"""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN move_cost double precision NOT NULL DEFAULT 1")
    op.execute("ALTER TABLE reservations ADD CONSTRAINT ck_reservations_move_cost CHECK (move_cost BETWEEN 0.1 AND 10)")


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN move_cost")
