"""Add `power_limits`: the most W that the servers of a domain may draw, a row per region (design 0055).

Processes of the previous version neither read nor write it. Plans that they commit may exceed a limit, so set limits
once all processes are of this version.
"""

from __future__ import annotations

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE power_limits (
            region_id bigint NOT NULL,
            limits jsonb NOT NULL,
            generation bigint NOT NULL DEFAULT 1,
            CONSTRAINT pk_power_limits PRIMARY KEY (region_id),
            CONSTRAINT fk_power_limits_region_id FOREIGN KEY (region_id) REFERENCES regions (region_id),
            CONSTRAINT ck_power_limits_limits CHECK (jsonb_typeof(limits) = 'array')
        )
        """
    )
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON power_limits "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )


def downgrade() -> None:
    op.execute("DROP TABLE power_limits")
