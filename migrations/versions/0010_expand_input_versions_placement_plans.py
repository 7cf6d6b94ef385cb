"""Let retention delete old placement plans and superseded input versions. Other deletions are still refused.

A plan that is kept may have a parent that was deleted. Processes of the previous version never delete these rows.
"""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

FORGETTABLE = ("planning_input_versions", "placement_plans")
PARENTS = ("placement_plans", "plan_runs")


def upgrade() -> None:
    _guard("refuse_rewriting_but_forgetting")
    for table in PARENTS:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT fk_{table}_parent_placement_plan_id")


def downgrade() -> None:
    """Require again that parents exist. Rows whose parent is already deleted stay unchecked (NOT VALID)."""
    for table in PARENTS:
        op.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT fk_{table}_parent_placement_plan_id "
            "FOREIGN KEY(parent_placement_plan_id) REFERENCES placement_plans (placement_plan_id) NOT VALID"
        )
    _guard("refuse_rewriting")


def _guard(function: str) -> None:
    for table in FORGETTABLE:
        op.execute(f"DROP TRIGGER refuse_rewriting ON {table}")
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
