"""Add `reservation_domain_limits.domains_preferred`: domains beyond it cost a price (design 0062).

Processes of the previous version do not know it, and place such reservations without the price.
"""

from __future__ import annotations

from alembic import op

revision = "0055"
down_revision = "0053"
branch_labels = None
depends_on = None

_HARD = "domains_max IS NOT NULL OR servers_max IS NOT NULL OR share_max IS NOT NULL"
_SOME = "ck_reservation_domain_limits_some"


def upgrade() -> None:
    op.execute(f"""
        ALTER TABLE reservation_domain_limits
            ADD COLUMN domains_preferred bigint,
            ADD CONSTRAINT ck_reservation_domain_limits_domains_preferred CHECK (domains_preferred >= 1),
            DROP CONSTRAINT {_SOME},
            ADD CONSTRAINT {_SOME} CHECK ({_HARD} OR domains_preferred IS NOT NULL)
        """)


def downgrade() -> None:
    op.execute(
        "DELETE FROM reservation_domain_limits WHERE domains_max IS NULL AND servers_max IS NULL AND share_max IS NULL"
    )
    op.execute(f"""
        ALTER TABLE reservation_domain_limits
            DROP CONSTRAINT {_SOME},
            DROP COLUMN domains_preferred,
            ADD CONSTRAINT {_SOME} CHECK ({_HARD})
        """)
