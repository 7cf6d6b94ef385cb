"""Add `job_parts`, the parts of running jobs that any worker may answer (design 0049).

Processes of the previous version offer none, and take no job of a kind that they do not know.
"""

from __future__ import annotations

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE job_parts (
            job_part_id bigint GENERATED ALWAYS AS IDENTITY,
            content bytea NOT NULL,
            answer bytea,
            wanted_until timestamptz NOT NULL,
            CONSTRAINT pk_job_parts PRIMARY KEY (job_part_id)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE job_parts")
