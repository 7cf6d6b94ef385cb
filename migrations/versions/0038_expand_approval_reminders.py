"""Add `approval_reminders`: a row per recipient and interval, written before its call (design 0041)."""

from __future__ import annotations

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE approval_reminders (
            recipient text NOT NULL, due_at timestamptz NOT NULL, status text NOT NULL, attempts integer NOT NULL,
            waiting integer NOT NULL, oldest_at timestamptz NOT NULL, message text,
            CONSTRAINT pk_approval_reminders PRIMARY KEY (recipient, due_at),
            CONSTRAINT ck_approval_reminders_status
                CHECK (status IN ('due', 'calling', 'sent', 'failed', 'unknown'))
        )
        """
    )
    op.execute(
        "CREATE INDEX ix_approval_reminders_open ON approval_reminders (due_at) WHERE status IN ('due', 'calling')"
    )


def downgrade() -> None:
    op.execute("DROP TABLE approval_reminders")
