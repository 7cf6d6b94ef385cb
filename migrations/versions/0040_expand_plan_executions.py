"""Let an execution record its figures when it ends: coverage, automation, times of resizes, and sizing errors.

Executions that ended before have none, and readers show gaps for them.
"""

from __future__ import annotations

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE plan_executions ADD COLUMN figures jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE plan_executions DROP COLUMN figures")
