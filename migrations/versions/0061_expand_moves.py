"""Add `asked_host_profile` to moves: the host profile that the step under way was asked to set up.

It is null in moves whose step a process of the previous version asked for. Their destination's profile counts.
"""

from __future__ import annotations

from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE moves ADD COLUMN asked_host_profile text NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE moves DROP COLUMN asked_host_profile")
