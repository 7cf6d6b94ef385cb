"""Let retention delete old move steps and plan changes. Every other deletion of them is still refused.

Processes of the previous version never delete them.
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FORGETTABLE = ("plan_changes", "move_steps")


def upgrade() -> None:
    op.execute("""
        CREATE FUNCTION refuse_rewriting_but_forgetting() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' AND current_setting('plimsoll.forgetting', true) = 'on' THEN
                RETURN NULL;
            END IF;
            RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
        END $$""")
    _guard("refuse_rewriting_but_forgetting")


def downgrade() -> None:
    _guard("refuse_rewriting")
    op.execute("DROP FUNCTION refuse_rewriting_but_forgetting()")


def _guard(function: str) -> None:
    for table in FORGETTABLE:
        op.execute(f"DROP TRIGGER refuse_rewriting ON {table}")
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
