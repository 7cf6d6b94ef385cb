"""Allow the status `superseded` for jobs: an attempt failed, and the next job of the subject does the work.

Processes of the previous version write `failed` for these, and leave rows with the new status alone.
"""

from __future__ import annotations

from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

STATUSES = ("queued", "running", "done", "failed")


def upgrade() -> None:
    _statuses((*STATUSES, "superseded"))


def downgrade() -> None:
    op.execute("UPDATE jobs SET status = 'failed' WHERE status = 'superseded'")
    _statuses(STATUSES)


def _statuses(statuses: tuple[str, ...]) -> None:
    listed = ", ".join(map(repr, statuses))
    op.execute("ALTER TABLE jobs DROP CONSTRAINT ck_jobs_status")
    op.execute(f"ALTER TABLE jobs ADD CONSTRAINT ck_jobs_status CHECK (status IN ({listed}))")
