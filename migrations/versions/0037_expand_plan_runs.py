"""Let a plan run have a what-if: changes of the world that it plans for (design 0041).

A planner of the previous version would plan without them: ask for what-ifs once all planners are of this version.
"""

from __future__ import annotations

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE plan_runs ADD COLUMN what_if jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE plan_runs DROP COLUMN what_if")
