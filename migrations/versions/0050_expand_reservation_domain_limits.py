"""Add `reservation_domain_limits`: hard limits of a reservation per kind of domain (design 0054).

Processes of the previous version do not know the limits, and may bind servers against them. So set none while such
processes run. The next solve moves those servers.
"""

from __future__ import annotations

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE reservation_domain_limits (
            region_id bigint NOT NULL,
            reservation_id bigint NOT NULL,
            kind text NOT NULL,
            domains_max bigint,
            servers_max bigint,
            share_max double precision,
            CONSTRAINT pk_reservation_domain_limits PRIMARY KEY (reservation_id, kind),
            CONSTRAINT fk_reservation_domain_limits_region_id_reservation_id
                FOREIGN KEY (region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
            CONSTRAINT ck_reservation_domain_limits_domains_max CHECK (domains_max >= 1),
            CONSTRAINT ck_reservation_domain_limits_servers_max CHECK (servers_max >= 1),
            CONSTRAINT ck_reservation_domain_limits_share_max CHECK (share_max > 0 AND share_max <= 1),
            CONSTRAINT ck_reservation_domain_limits_some CHECK (
                domains_max IS NOT NULL OR servers_max IS NOT NULL OR share_max IS NOT NULL)
        )
        """)
    op.execute("CREATE INDEX ix_reservation_domain_limits_region_id ON reservation_domain_limits (region_id)")


def downgrade() -> None:
    op.execute("DROP TABLE reservation_domain_limits")
