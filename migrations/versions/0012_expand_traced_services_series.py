"""Record which token first sent a service name or a series of measurements, and when.

Thus one token cannot use up the names of all, and its names can be deleted. Rows that the previous version wrote, or
still writes, belong to no token.
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
