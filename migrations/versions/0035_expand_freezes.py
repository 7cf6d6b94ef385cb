"""Add `freezes`, the calendar in which no action of a plan begins, and `freeze_overrides` (design 0041).

An orchestrator of the previous version ignores them: let none run while a freeze is on.
"""

from __future__ import annotations

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE freezes (
    freeze_id BIGINT GENERATED ALWAYS AS IDENTITY,
    scope TEXT NOT NULL,
    name TEXT,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_freezes PRIMARY KEY (freeze_id),
    CONSTRAINT ck_freezes_scope CHECK (scope IN ('all', 'region', 'service', 'product')),
    CONSTRAINT ck_freezes_name CHECK ((scope = 'all') = (name IS NULL)),
    CONSTRAINT ck_freezes_ends_at CHECK (ends_at > starts_at)
);
CREATE INDEX ix_freezes_open ON freezes (ends_at) WHERE ended_at IS NULL;
CREATE TABLE freeze_overrides (
    plan_execution_id BIGINT NOT NULL,
    freeze_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    given_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_freeze_overrides PRIMARY KEY (plan_execution_id, freeze_id, position),
    CONSTRAINT fk_freeze_overrides_freeze_id FOREIGN KEY(freeze_id) REFERENCES freezes (freeze_id)
);
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON freezes "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    op.execute(
        "CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON freeze_overrides "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_but_forgetting()"
    )


def downgrade() -> None:
    op.execute("DROP TABLE freeze_overrides, freezes")
