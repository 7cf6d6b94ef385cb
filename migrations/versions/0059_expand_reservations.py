"""Add `imported_rru` to reservations: the capacity that an imported one came with, which is promised to its owner.

Processes of the previous version leave it null. So it is null too for what they import, and for a reservation that was
resized before this migration. All that such a reservation asks for counts as promised until a request is granted.
"""

from __future__ import annotations

from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE reservations
            ADD COLUMN imported_rru double precision NULL
                CONSTRAINT ck_reservations_imported_rru CHECK (imported_rru >= 0 AND imported_rru < 'infinity')
        """
    )
    # No owner sees a change, so no generation rises.
    op.execute("ALTER TABLE reservations DISABLE TRIGGER raise_generation")
    op.execute(
        """
        UPDATE reservations SET imported_rru = capacity_rru
        WHERE kind = 'guaranteed' AND NOT EXISTS (
            SELECT FROM capacity_requests AS one
            WHERE one.reservation_id = reservations.reservation_id AND one.phase IN ('granted', 'degraded'))
        """
    )
    op.execute("ALTER TABLE reservations ENABLE TRIGGER raise_generation")


def downgrade() -> None:
    op.execute("ALTER TABLE reservations DROP COLUMN imported_rru")
