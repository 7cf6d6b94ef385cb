"""A region may say how often it is solved: `solve_every_s`. Null, as at first, leaves it to the scheduler.

It is a part of what operators edit, so changing it raises the region's generation. Processes of the version before
neither read nor write it. A scheduler of that version goes on by its own period: beside a new one, a region is solved
as often as either of them says.
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
    """Have the generation rise with a change of these columns: committing a solve changes others, and must not."""
    op.execute("DROP TRIGGER raise_generation ON regions")
    op.execute(
        f"CREATE TRIGGER raise_generation BEFORE UPDATE OF {columns} ON regions "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
