"""Add `policy_rollouts` and `policy_comparisons`, and let prices wait for approvals (design 0053).

Processes of the previous version solve with the region's policy alone, so a canary waits until the solvers are of this
version. They change prices at once.
"""

from __future__ import annotations

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE policy_rollouts (
            policy_rollout_id bigint GENERATED ALWAYS AS IDENTITY,
            region_id bigint NOT NULL,
            stage text NOT NULL,
            share double precision,
            change jsonb NOT NULL,
            before jsonb NOT NULL,
            held jsonb NOT NULL,
            started_by text NOT NULL,
            reason text NOT NULL,
            created_at timestamptz NOT NULL,
            stage_at timestamptz NOT NULL,
            canary_at timestamptz,
            generation bigint DEFAULT 1 NOT NULL,
            CONSTRAINT pk_policy_rollouts PRIMARY KEY (policy_rollout_id),
            CONSTRAINT fk_policy_rollouts_region_id FOREIGN KEY (region_id) REFERENCES regions (region_id),
            CONSTRAINT ck_policy_rollouts_stage
                CHECK (stage IN ('shadow', 'canary', 'all', 'back', 'superseded')),
            CONSTRAINT ck_policy_rollouts_share CHECK (share > 0 AND share < 1),
            CONSTRAINT ck_policy_rollouts_canary CHECK (stage <> 'canary' OR num_nonnulls(share, canary_at) = 2)
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX uq_policy_rollouts_open ON policy_rollouts (region_id) WHERE stage IN ('shadow', 'canary')"
    )
    op.execute("CREATE INDEX ix_policy_rollouts_region_id ON policy_rollouts (region_id, policy_rollout_id)")
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON policy_rollouts "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    op.execute(
        """
        CREATE TABLE policy_comparisons (
            policy_comparison_id bigint GENERATED ALWAYS AS IDENTITY,
            policy_rollout_id bigint NOT NULL,
            solve_run_id bigint NOT NULL,
            stage text NOT NULL,
            status text NOT NULL,
            report jsonb,
            findings jsonb NOT NULL,
            error text,
            started_at timestamptz NOT NULL,
            finished_at timestamptz,
            CONSTRAINT pk_policy_comparisons PRIMARY KEY (policy_comparison_id),
            CONSTRAINT uq_policy_comparisons_policy_rollout_id_solve_run_id UNIQUE (policy_rollout_id, solve_run_id),
            CONSTRAINT fk_policy_comparisons_policy_rollout_id
                FOREIGN KEY (policy_rollout_id) REFERENCES policy_rollouts (policy_rollout_id),
            CONSTRAINT ck_policy_comparisons_stage CHECK (stage IN ('shadow', 'canary')),
            CONSTRAINT ck_policy_comparisons_status CHECK (status IN ('running', 'done', 'yielded', 'failed'))
        )
        """
    )
    op.execute("ALTER TABLE approval_limits ADD COLUMN policy_prices boolean DEFAULT false NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE approval_limits DROP COLUMN policy_prices")
    op.execute("DROP TABLE policy_comparisons")
    op.execute("DROP TABLE policy_rollouts")
