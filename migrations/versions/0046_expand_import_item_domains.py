"""Add the domains of further kinds to the items of an import (design 0051).

Processes of the previous version leave both columns empty, so an import that they propose changes no domains.
"""

from __future__ import annotations

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE import_items ADD COLUMN domains jsonb, ADD COLUMN was_domains jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE import_items DROP COLUMN domains, DROP COLUMN was_domains")
