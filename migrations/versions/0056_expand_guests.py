"""Add guests: reservations with a share of each server of another one, their host (design 0061).

`reservation_rru.rru` is from now on of the share of a server that a reservation has, and `whole_rru` of a whole one.
Processes of the previous version do not know guests: they would solve for them as for other reservations. So ask for
none while such processes run.
"""

from __future__ import annotations

from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE reservations
            ADD COLUMN host_reservation_id bigint,
            ADD COLUMN server_share double precision NOT NULL DEFAULT 1
                CONSTRAINT ck_reservations_server_share CHECK (server_share > 0 AND server_share <= 1)""")
    op.execute(
        "CREATE INDEX ix_reservations_host_reservation_id ON reservations (host_reservation_id) "
        "WHERE host_reservation_id IS NOT NULL AND deleted_at IS NULL"
    )
    op.execute("""
        ALTER TABLE reservation_rru ADD COLUMN whole_rru double precision
            CONSTRAINT ck_reservation_rru_whole_rru CHECK (whole_rru > 0 AND whole_rru < 'infinity')""")


def downgrade() -> None:
    op.execute("UPDATE reservation_rru SET rru = whole_rru WHERE whole_rru IS NOT NULL")
    op.execute("ALTER TABLE reservation_rru DROP COLUMN whole_rru")
    op.execute("DROP INDEX ix_reservations_host_reservation_id")
    op.execute("ALTER TABLE reservations DROP COLUMN server_share, DROP COLUMN host_reservation_id")
