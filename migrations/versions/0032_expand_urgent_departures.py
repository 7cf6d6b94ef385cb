"""Add `urgent_departures`, servers that operators want out of their reservation at once, and the reason in their moves
(design 0032).

Processes of the previous version ignore the marks, which is safe: such servers leave later.
"""

from __future__ import annotations

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE urgent_departures (
            server_id bigint NOT NULL REFERENCES servers (server_id),
            region_id bigint NOT NULL REFERENCES regions (region_id),
            reason text NOT NULL, marked_by text NOT NULL, marked_at timestamptz NOT NULL,
            CONSTRAINT pk_urgent_departures PRIMARY KEY (server_id)
        )
        """
    )
    op.execute("CREATE INDEX ix_urgent_departures_region_id ON urgent_departures (region_id, server_id)")
    op.execute("ALTER TABLE moves ADD COLUMN urgent_reason text")


def downgrade() -> None:
    op.execute("ALTER TABLE moves DROP COLUMN urgent_reason")
    op.execute("DROP TABLE urgent_departures")
