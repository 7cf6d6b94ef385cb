"""Let approvals be about actions of placement plans (design 0041): their execution, position and owner, and the kind of
a rejection.

Processes of the previous version do not show such approvals, because these have no region's id.
"""

from __future__ import annotations

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_KINDS = "'capacity_request', 'region_policy', 'maintenance_override', 'rru_class', 'below_hold'"
_SUBJECT = (
    "CASE WHEN kind = 'plan_action' THEN num_nonnulls(plan_execution_id, position) = 2 AND region_id IS NULL "
    "ELSE num_nonnulls(plan_execution_id, position) = 0 AND region_id IS NOT NULL END"
)


def upgrade() -> None:
    op.execute("ALTER TABLE approvals ALTER COLUMN region_id DROP NOT NULL")
    op.execute(
        "ALTER TABLE approvals ADD COLUMN plan_execution_id bigint, ADD COLUMN position integer, "
        "ADD COLUMN for_owner text, ADD COLUMN reject_kind text"
    )
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    op.execute(f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ({_KINDS}, 'plan_action'))")
    op.execute(f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_subject CHECK ({_SUBJECT})")
    op.execute("CREATE INDEX ix_approvals_decided_at ON approvals (decided_at)")
    op.execute(
        "CREATE UNIQUE INDEX uq_approvals_plan_action ON approvals (plan_execution_id, position) "
        "WHERE plan_execution_id IS NOT NULL"
    )
    op.execute("CREATE INDEX ix_approvals_pending ON approvals (kind, for_owner, created_at) WHERE status = 'pending'")


def downgrade() -> None:
    op.execute("DELETE FROM approvals WHERE kind = 'plan_action'")
    for name in ("pending", "decided_at"):
        op.execute(f"DROP INDEX ix_approvals_{name}")
    op.execute("DROP INDEX uq_approvals_plan_action")
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_subject")
    op.execute("ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind")
    op.execute(f"ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ({_KINDS}))")
    for column in ("reject_kind", "for_owner", "position", "plan_execution_id"):
        op.execute(f"ALTER TABLE approvals DROP COLUMN {column}")
    op.execute("ALTER TABLE approvals ALTER COLUMN region_id SET NOT NULL")
