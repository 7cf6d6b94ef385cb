"""Names of services and series of measurements remember which token brought them, and when.

So one token cannot take all that there may be, and what it brought can be forgotten. Rows of the version before, and
those that it still writes, are of no token.
"""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None
_SERIES = ("usage_series", "traffic_series")


def upgrade() -> None:
    for table in ("traced_services", *_SERIES):
        op.execute(f"ALTER TABLE {table} ADD COLUMN named_by text")
    for table in _SERIES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN named_at timestamp with time zone NOT NULL DEFAULT now()")


def downgrade() -> None:
    for table in _SERIES:
        op.execute(f"ALTER TABLE {table} DROP COLUMN named_at")
    for table in ("traced_services", *_SERIES):
        op.execute(f"ALTER TABLE {table} DROP COLUMN named_by")
