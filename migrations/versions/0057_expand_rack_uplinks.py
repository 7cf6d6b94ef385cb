"""Add `rack_uplinks`: the Gbit/s that the racks of a region may send, a row per region (design 0063).

Reservations get `gbit_per_rru`. Processes of the previous version know neither, and place servers without the price.
They also set `gbit_per_rru` of a reservation that they create to 0.
"""

from __future__ import annotations

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE rack_uplinks (
            region_id bigint NOT NULL,
            limits jsonb NOT NULL,
            generation bigint NOT NULL DEFAULT 1,
            CONSTRAINT pk_rack_uplinks PRIMARY KEY (region_id),
            CONSTRAINT fk_rack_uplinks_region_id FOREIGN KEY (region_id) REFERENCES regions (region_id),
            CONSTRAINT ck_rack_uplinks_limits CHECK (jsonb_typeof(limits) = 'object')
        )
        """
    )
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON rack_uplinks "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    op.execute(
        """
        ALTER TABLE reservations
            ADD COLUMN gbit_per_rru double precision NOT NULL DEFAULT 0
                CONSTRAINT ck_reservations_gbit_per_rru CHECK (gbit_per_rru BETWEEN 0 AND 10000)
        """
    )


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN gbit_per_rru")
    op.execute("DROP TABLE rack_uplinks")
