"""Let retention delete old plans, solve runs and audit entries (design 0047). Every other deletion is still refused.

A plan's parent, and the plan of a solve run, are no foreign keys from now on, because they may be deleted. Processes of
the previous version never delete them, and read plans by id as before.
"""

from __future__ import annotations

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

TABLES = ("plans", "audit_entries")
KEYS = (
    ("plans", "parent_plan_id"),
    ("solve_runs", "parent_plan_id"),
    ("solve_runs", "plan_id"),
)
INDEXES = (("plans", "solve_run_id"), ("plans", "capacity_request_id"), ("approvals", "capacity_request_id"))


def upgrade() -> None:
    _guard("refuse_rewriting_but_forgetting")
    for table, column in KEYS:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT fk_{table}_{column}_region_id")
    for table, column in INDEXES:
        op.execute(f"CREATE INDEX ix_{table}_{column} ON {table} ({column}) WHERE {column} IS NOT NULL")
    # With the rights of the owner of the tables: the role of services may not delete from the audit trail.
    op.execute("""
        CREATE FUNCTION forget_audit_entries(chosen bigint[]) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        DECLARE
            forgotten bigint;
        BEGIN
            PERFORM set_config('plimsoll.forgetting', 'on', true);
            DELETE FROM audit_entries
            WHERE audit_entry_id = ANY(chosen) AND at < clock_timestamp() - interval '30 days';
            GET DIAGNOSTICS forgotten = ROW_COUNT;
            PERFORM set_config('plimsoll.forgetting', 'off', true);
            RETURN forgotten;
        END $$""")
    op.execute("REVOKE ALL ON FUNCTION forget_audit_entries(bigint[]) FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION forget_audit_entries(bigint[])")
    for table, column in INDEXES:
        op.execute(f"DROP INDEX ix_{table}_{column}")
    for table, column in KEYS:
        # Not validated: the plans of long ago may be gone.
        op.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT fk_{table}_{column}_region_id "
            f"FOREIGN KEY ({column}, region_id) REFERENCES plans (plan_id, region_id) NOT VALID"
        )
    _guard("refuse_rewriting")


def _guard(function: str) -> None:
    for table in TABLES:
        op.execute(f"DROP TRIGGER refuse_rewriting ON {table}")
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
