"""Add the period of solves of a region, `solve_every_s`. Null, the initial value, means the scheduler's own period.

Operators edit it, so a change raises the region's generation. Processes of the previous version neither read nor
write it. A scheduler of that version keeps its own period. If it runs beside a new scheduler, both start solves.
"""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE regions ADD COLUMN solve_every_s double precision")
    op.execute(
        "ALTER TABLE regions ADD CONSTRAINT ck_regions_solve_every_s CHECK (solve_every_s BETWEEN 60 AND 604800)"
    )
    _raise_generation("name, policy, solve_every_s")


def downgrade() -> None:
    _raise_generation("name, policy")
    op.execute("ALTER TABLE regions DROP COLUMN solve_every_s")


def _raise_generation(columns: str) -> None:
    """Raise the generation at changes of these columns only: the commit of a solve changes others."""
    op.execute("DROP TRIGGER raise_generation ON regions")
    op.execute(
        f"CREATE TRIGGER raise_generation BEFORE UPDATE OF {columns} ON regions "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
