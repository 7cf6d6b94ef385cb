"""Add persons: whose token it is, who is behind an audit entry, and idempotency keys of persons who log in (design
0043).

Processes of the previous version write no persons, and know no logins. Their tokens and keys stay valid.
"""

from __future__ import annotations

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE tokens ADD COLUMN person text")
    op.execute("ALTER TABLE audit_entries ADD COLUMN person text")
    op.execute(
        """
        ALTER TABLE idempotency_keys
            ADD COLUMN person text,
            DROP CONSTRAINT pk_idempotency_keys,
            ALTER COLUMN token_id DROP NOT NULL,
            ADD CONSTRAINT uq_idempotency_keys_token_id_key UNIQUE (token_id, key),
            ADD CONSTRAINT uq_idempotency_keys_person_key UNIQUE (person, key),
            ADD CONSTRAINT ck_idempotency_keys_holder CHECK (num_nonnulls(token_id, person) = 1)
        """
    )


def downgrade() -> None:
    op.execute("DELETE FROM idempotency_keys WHERE token_id IS NULL")
    op.execute(
        """
        ALTER TABLE idempotency_keys
            DROP CONSTRAINT uq_idempotency_keys_token_id_key,
            DROP COLUMN person,
            ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (token_id, key)
        """
    )
    op.execute("ALTER TABLE audit_entries DROP COLUMN person")
    op.execute("ALTER TABLE tokens DROP COLUMN person")
