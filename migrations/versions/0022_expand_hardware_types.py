"""Add `hardware_types.cost_units`: what one server counts toward quotas and approval limits.

`quotas.limit_rru` and `approval_limits.size_rru` keep their names and values, and count cost units from now on.
Processes of the previous version go on comparing them with RRU.
"""

from __future__ import annotations

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
old_processes_stop = "portals and solvers of before compare quotas in cost units with RRU"


def upgrade() -> None:
    op.execute("ALTER TABLE hardware_types ADD COLUMN cost_units double precision")
    op.execute(
        "ALTER TABLE hardware_types ADD CONSTRAINT ck_hardware_types_cost_units "
        "CHECK (cost_units > 0 AND cost_units < 'infinity')"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE hardware_types DROP COLUMN cost_units")
