"""Add `departure_waits` and `reservation_waits`: why servers wait with their moves, and since when (design 0032).

Processes of the previous version neither read nor write them.
"""

from __future__ import annotations

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE departure_waits (server_id bigint NOT NULL, region_id bigint NOT NULL, "
        "reservation_id bigint NOT NULL, since timestamptz NOT NULL, CONSTRAINT pk_departure_waits "
        "PRIMARY KEY (server_id))"
    )
    op.execute("CREATE INDEX ix_departure_waits_region_id ON departure_waits (region_id, server_id)")
    op.execute(
        """
        CREATE TABLE reservation_waits (
            reservation_id bigint NOT NULL, region_id bigint NOT NULL, servers integer NOT NULL,
            since timestamptz NOT NULL, level text NOT NULL, keeps_rru double precision NOT NULL,
            lacks_rru double precision NOT NULL, waits_for text NOT NULL, moves integer NOT NULL,
            replacements integer NOT NULL, loans integer NOT NULL, queued integer NOT NULL,
            CONSTRAINT pk_reservation_waits PRIMARY KEY (reservation_id),
            CONSTRAINT fk_reservation_waits_region_id_reservations FOREIGN KEY (region_id, reservation_id)
                REFERENCES reservations (region_id, reservation_id),
            CONSTRAINT ck_reservation_waits_level CHECK (level IN ('survive', 'hold'))
        )
        """
    )
    op.execute("CREATE INDEX ix_reservation_waits_region_id ON reservation_waits (region_id, reservation_id)")


def downgrade() -> None:
    op.execute("DROP TABLE reservation_waits")
    op.execute("DROP TABLE departure_waits")
