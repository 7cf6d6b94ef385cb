"""Add `bookings` and `booked_servers`: servers that are kept for reservations that begin later (design 0056).

Processes of the previous version do not know bookings, and may give booked servers to others. The portal then books
other servers, or says that the start is no promise.
"""

from __future__ import annotations

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE bookings (
            reservation_id bigint NOT NULL,
            observed_generation bigint NOT NULL,
            is_promise boolean NOT NULL,
            reason text NOT NULL,
            message text NOT NULL,
            numbers jsonb NOT NULL,
            changed_at timestamptz NOT NULL,
            decided_at timestamptz NOT NULL,
            CONSTRAINT pk_bookings PRIMARY KEY (reservation_id),
            CONSTRAINT fk_bookings_reservation_id
                FOREIGN KEY (reservation_id) REFERENCES reservations (reservation_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE booked_servers (
            region_id bigint NOT NULL,
            reservation_id bigint NOT NULL,
            server_id bigint NOT NULL,
            CONSTRAINT pk_booked_servers PRIMARY KEY (reservation_id, server_id),
            CONSTRAINT fk_booked_servers_region_id_reservation_id
                FOREIGN KEY (region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
            CONSTRAINT fk_booked_servers_region_id_server_id
                FOREIGN KEY (region_id, server_id) REFERENCES servers (region_id, server_id)
        )
        """
    )
    op.execute("CREATE INDEX ix_booked_servers_server_id ON booked_servers (server_id)")


def downgrade() -> None:
    op.execute("DROP TABLE booked_servers")
    op.execute("DROP TABLE bookings")
