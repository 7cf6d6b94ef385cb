"""Add `servers.in_doubt_reservation_id` and `unclean`, `moves.asked_at` and `movers.wait_s_max`.

Until now "not cleaned" was read from a server's last move. The columns are filled from there. Processes of the
previous version neither read nor write them: a mover of that version may leave a server that it did not clean unmarked.
So stop the movers of the previous version before those of this one start.
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

UNSETTLED = "in_doubt_reservation_id IS NOT NULL OR (unclean AND current_reservation_id IS NULL)"


def upgrade() -> None:
    op.execute("ALTER TABLE servers ADD COLUMN in_doubt_reservation_id bigint")
    op.execute("ALTER TABLE servers ADD COLUMN unclean boolean NOT NULL DEFAULT false")
    op.execute(
        "ALTER TABLE servers ADD CONSTRAINT fk_servers_region_id_reservations_in_doubt "
        "FOREIGN KEY (region_id, in_doubt_reservation_id) REFERENCES reservations (region_id, reservation_id)"
    )
    op.execute(
        "ALTER TABLE servers ADD CONSTRAINT ck_servers_in_doubt "
        "CHECK (in_doubt_reservation_id IS NULL OR current_reservation_id IS NULL)"
    )
    op.execute(f"CREATE INDEX ix_servers_unsettled ON servers (region_id) WHERE {UNSETTLED}")
    op.execute("ALTER TABLE movers ADD COLUMN wait_s_max double precision")
    op.execute("ALTER TABLE movers ADD CONSTRAINT ck_movers_wait_s_max CHECK (wait_s_max >= 0)")
    op.execute("ALTER TABLE moves ADD COLUMN asked_at timestamp with time zone")
    op.execute("UPDATE moves SET asked_at = step_started_at WHERE status = 'running'")
    op.execute(
        """
        UPDATE servers SET unclean = true FROM (
            SELECT DISTINCT ON (server_id) server_id, status, steps[step_index + 1] AS step FROM moves
            ORDER BY server_id, move_id DESC
        ) AS last
        WHERE last.server_id = servers.server_id AND current_reservation_id IS NULL AND decommissioned_at IS NULL
          AND step = 'clean' AND status <> 'done'
        """
    )
    # They could be imported, were solved like guaranteed ones, and could not be changed. Now an import refuses them.
    op.execute("UPDATE reservations SET kind = 'guaranteed' WHERE kind = 'elastic'")
    op.execute("ALTER TABLE move_steps DROP CONSTRAINT ck_move_steps_outcome")
    op.execute(
        "ALTER TABLE move_steps ADD CONSTRAINT ck_move_steps_outcome "
        "CHECK (outcome IN ('done', 'failed', 'cancelled', 'skipped', 'unknown'))"
    )


def downgrade() -> None:
    raise RuntimeError("a server in doubt has no form in the previous schema: restore a backup instead")
