"""Add the history of what reservations held: `readiness_changes`, and `readiness_watches`, which says until when.

The history begins with the first look after the migration. Processes of the previous version use neither table.
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A row per change of a reservation: its promise, what it held, and its readiness. Kept for 90 days.
    op.execute("""
        CREATE TABLE readiness_changes (
            reservation_id bigint NOT NULL,
            from_at timestamp with time zone NOT NULL,
            since_at timestamp with time zone NOT NULL,
            readiness text NOT NULL,
            observed_generation bigint NOT NULL,
            capacity_rru double precision NOT NULL,
            held_rru double precision,
            held_after_msb_loss_rru double precision,
            ready_s double precision NOT NULL,
            watched_s double precision NOT NULL,
            CONSTRAINT pk_readiness_changes PRIMARY KEY (reservation_id, from_at),
            CONSTRAINT fk_readiness_changes_reservation_id
                FOREIGN KEY (reservation_id) REFERENCES reservations (reservation_id),
            CONSTRAINT ck_readiness_changes_readiness CHECK (readiness IN
                ('Held', 'SurvivesLoss', 'NotThereYet', 'CapacityLost', 'NothingPromised', 'NotWatched'))
        )""")
    # The last look at each region, and its numbers for metrics.
    op.execute("""
        CREATE TABLE readiness_watches (
            region_id bigint NOT NULL,
            watched_until timestamp with time zone NOT NULL,
            ready integer NOT NULL,
            not_there_yet integer NOT NULL,
            capacity_lost integer NOT NULL,
            capacity_rru double precision NOT NULL,
            held_rru double precision NOT NULL,
            held_after_msb_loss_rru double precision NOT NULL,
            missing_rru double precision NOT NULL,
            CONSTRAINT pk_readiness_watches PRIMARY KEY (region_id),
            CONSTRAINT fk_readiness_watches_region_id FOREIGN KEY (region_id) REFERENCES regions (region_id)
        )""")


def downgrade() -> None:
    op.execute("DROP TABLE readiness_watches")
    op.execute("DROP TABLE readiness_changes")
