"""Lend servers to reservations for the time of an exchange: `servers.spare_for_reservation_id` and `moves.is_spare`.

Processes of the previous version read only targets. Their mover brings a lent server back as soon as its reservation
can spare it, which is safe.
"""

from __future__ import annotations

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE servers ADD COLUMN spare_for_reservation_id bigint")
    op.execute(
        "ALTER TABLE servers ADD CONSTRAINT fk_servers_region_id_reservations_spare_for "
        "FOREIGN KEY (region_id, spare_for_reservation_id) REFERENCES reservations (region_id, reservation_id)"
    )
    op.execute(
        "ALTER TABLE servers ADD CONSTRAINT ck_servers_spare_for "
        "CHECK (spare_for_reservation_id IS NULL OR decommissioned_at IS NULL)"
    )
    op.execute("CREATE INDEX ix_servers_lent ON servers (region_id) WHERE spare_for_reservation_id IS NOT NULL")
    op.execute("ALTER TABLE moves ADD COLUMN is_spare boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    op.execute("ALTER TABLE moves DROP COLUMN is_spare")
    op.execute("ALTER TABLE servers DROP COLUMN spare_for_reservation_id")
