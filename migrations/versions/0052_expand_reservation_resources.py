"""Add `reservation_resources`: amounts that a reservation asks for beside its RRU (design 0058).

Processes of the previous version do not know the resources, and may bind servers that lack them. So ask for none while
such processes run. The next solve mends what they left short.
"""

from __future__ import annotations

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE reservation_resources (
            region_id bigint NOT NULL,
            reservation_id bigint NOT NULL,
            resource text NOT NULL,
            amount double precision NOT NULL,
            CONSTRAINT pk_reservation_resources PRIMARY KEY (reservation_id, resource),
            CONSTRAINT fk_reservation_resources_region_id_reservation_id
                FOREIGN KEY (region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
            CONSTRAINT ck_reservation_resources_amount CHECK (amount > 0 AND amount < 'infinity')
        )
        """)
    op.execute("CREATE INDEX ix_reservation_resources_region_id ON reservation_resources (region_id)")


def downgrade() -> None:
    op.execute("DROP TABLE reservation_resources")
