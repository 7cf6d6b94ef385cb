"""How often a job's message was sent, and whose trace it belongs to.

Both have a default: processes of the version before neither read nor write them.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE jobs ADD COLUMN sends INTEGER DEFAULT 0 NOT NULL, ADD COLUMN trace TEXT")


def downgrade() -> None:
    op.execute("ALTER TABLE jobs DROP COLUMN sends, DROP COLUMN trace")
