"""Add the sends and the trace of a job, and a table of tallies for processes that Prometheus does not scrape.

The columns have defaults. Processes of the previous version neither read nor write them.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE jobs ADD COLUMN sends INTEGER DEFAULT 0 NOT NULL, ADD COLUMN trace TEXT")
    op.execute(
        "CREATE TABLE tallies (name TEXT NOT NULL, labels TEXT[] NOT NULL, value DOUBLE PRECISION NOT NULL, "
        "CONSTRAINT pk_tallies PRIMARY KEY (name, labels))"
    )


def downgrade() -> None:
    op.execute("DROP TABLE tallies")
    op.execute("ALTER TABLE jobs DROP COLUMN sends, DROP COLUMN trace")
