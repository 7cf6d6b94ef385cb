"""Add `reservations.profile_changed`: the host profile of a live reservation has changed, and the mover looks for its
servers with another one.

Processes of the previous version neither read nor write it. They refuse such a change.
"""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN profile_changed boolean NOT NULL DEFAULT false")
    op.execute("CREATE INDEX ix_reservations_profile_changed ON reservations (region_id) WHERE profile_changed")


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN profile_changed")
