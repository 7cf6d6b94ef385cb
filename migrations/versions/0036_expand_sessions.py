"""Add `sessions`, in which people use the pages with the rights of their token (design 0042).

Processes of the previous version do not accept the secret of a session, and change nothing about it.
"""

from __future__ import annotations

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE sessions (
            session_id bigint GENERATED ALWAYS AS IDENTITY,
            secret_sha256 bytea NOT NULL,
            token_id bigint NOT NULL REFERENCES tokens (token_id),
            created_at timestamptz NOT NULL, seen_at timestamptz NOT NULL,
            CONSTRAINT pk_sessions PRIMARY KEY (session_id),
            CONSTRAINT uq_sessions_secret_sha256 UNIQUE (secret_sha256)
        )
        """
    )
    op.execute("CREATE INDEX ix_sessions_seen_at ON sessions (seen_at)")


def downgrade() -> None:
    op.execute("DROP TABLE sessions")
