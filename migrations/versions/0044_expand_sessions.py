"""Add sessions of people who logged in at an issuer: their token, sealed, and its end (design 0050).

Processes of the previous version find no such session and answer 401. Sessions of tokens stay as they are.
"""

from __future__ import annotations

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE sessions
            ALTER COLUMN token_id DROP NOT NULL,
            ADD COLUMN person text,
            ADD COLUMN sealed_bearer text,
            ADD COLUMN bearer_ends_at timestamptz,
            ADD CONSTRAINT ck_sessions_holder CHECK (
                num_nonnulls(token_id, person) = 1 AND num_nonnulls(person, sealed_bearer, bearer_ends_at) IN (0, 3)
            )
        """
    )


def downgrade() -> None:
    op.execute("DELETE FROM sessions WHERE token_id IS NULL")
    op.execute(
        """
        ALTER TABLE sessions
            DROP COLUMN person, DROP COLUMN sealed_bearer, DROP COLUMN bearer_ends_at,
            ALTER COLUMN token_id SET NOT NULL
        """
    )
