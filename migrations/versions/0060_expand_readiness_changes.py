"""Add `granted_rru` to readiness_changes: how much of the capacity that a reservation asked for was promised then.

It is null in older records, because they do not say it, and in records of processes of the previous version.
"""

from __future__ import annotations

from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE readiness_changes ADD COLUMN granted_rru double precision NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE readiness_changes DROP COLUMN granted_rru")
