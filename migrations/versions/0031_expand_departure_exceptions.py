"""Add the departures below *hold* that plans name and operators approve (design 0032): a kind of approvals,
`excepted_reservations` and `excepted_servers`, and the approval of a wait.

Processes of the previous version show the new kind of approvals, and cannot approve it. `movers.wait_s_max`, which
allowed such departures without a plan, is no longer read. A contract migration of the next version drops it.
"""

from __future__ import annotations

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_KINDS = "'capacity_request', 'region_policy', 'maintenance_override', 'rru_class'"


def upgrade() -> None:
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    op.execute(f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ({_KINDS}, 'below_hold'))")
    op.execute(
        "CREATE UNIQUE INDEX uq_approvals_below_hold ON approvals (region_id) "
        "WHERE status IN ('pending', 'approved') AND kind = 'below_hold'"
    )
    op.execute(
        """
        CREATE TABLE excepted_reservations (
            approval_id bigint NOT NULL REFERENCES approvals (approval_id),
            reservation_id bigint NOT NULL REFERENCES reservations (reservation_id),
            below_rru double precision NOT NULL, seconds double precision NOT NULL, servers integer NOT NULL,
            CONSTRAINT pk_excepted_reservations PRIMARY KEY (approval_id, reservation_id),
            CONSTRAINT ck_excepted_reservations_below_rru CHECK (below_rru >= 0)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE excepted_servers (
            approval_id bigint NOT NULL REFERENCES approvals (approval_id), server_id bigint NOT NULL,
            from_reservation_id bigint NOT NULL, to_reservation_id bigint NOT NULL,
            CONSTRAINT pk_excepted_servers PRIMARY KEY (approval_id, server_id)
        )
        """
    )
    op.execute("ALTER TABLE reservation_waits ADD COLUMN approval_id bigint")
    op.execute("ALTER TABLE reservation_waits ADD COLUMN approval_state text")


def downgrade() -> None:
    op.execute("ALTER TABLE reservation_waits DROP COLUMN approval_state")
    op.execute("ALTER TABLE reservation_waits DROP COLUMN approval_id")
    op.execute("DROP TABLE excepted_servers")
    op.execute("DROP TABLE excepted_reservations")
    op.execute("DROP INDEX uq_approvals_below_hold")
    op.execute("DELETE FROM approvals WHERE kind = 'below_hold'")
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    op.execute(f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ({_KINDS}))")
