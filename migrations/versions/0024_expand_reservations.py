"""Add hard limits of reservations: `reservations.msb_share_max`, and the table `reservation_datacenters`.

Processes of the previous version do not know the limits, and may bind servers against them. So set none while such
processes run. The next solve moves those servers.
"""

from __future__ import annotations

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE reservations ADD COLUMN msb_share_max double precision")
    op.execute(
        "ALTER TABLE reservations ADD CONSTRAINT ck_reservations_msb_share_max "
        "CHECK (msb_share_max > 0 AND msb_share_max <= 1)"
    )
    # The only datacenters that may hold servers of a reservation. Without a row all may.
    op.execute("""
        CREATE TABLE reservation_datacenters (
            region_id bigint NOT NULL,
            reservation_id bigint NOT NULL,
            datacenter_id bigint NOT NULL,
            CONSTRAINT pk_reservation_datacenters PRIMARY KEY (reservation_id, datacenter_id),
            CONSTRAINT fk_reservation_datacenters_region_id_reservation_id
                FOREIGN KEY (region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
            CONSTRAINT fk_reservation_datacenters_region_id_datacenter_id
                FOREIGN KEY (region_id, datacenter_id) REFERENCES datacenters (region_id, datacenter_id)
        )
        """)


def downgrade() -> None:
    op.execute("DROP TABLE reservation_datacenters")
    op.execute("ALTER TABLE reservations DROP COLUMN msb_share_max")
