"""Record when retention last ran, and let a job name the lane that it shares with others.

Thus a wrong clock cannot make one run delete everything, and the requests of one owner cannot fill the queue.
Processes of the previous version use neither.
"""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE retention_clocks (
            name text NOT NULL,
            at timestamp with time zone NOT NULL,
            CONSTRAINT pk_retention_clocks PRIMARY KEY (name)
        )""")
    op.execute("ALTER TABLE jobs ADD COLUMN lane text")


def downgrade() -> None:
    op.execute("ALTER TABLE jobs DROP COLUMN lane")
    op.execute("DROP TABLE retention_clocks")
