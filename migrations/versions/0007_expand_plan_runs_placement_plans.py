"""Add the planner: versions of its inputs, runs, models, plans, overrides, and schedules without a region.

All changes are new tables, which processes of the previous version do not use.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE world_schedules (
    kind TEXT NOT NULL,
    interval_s DOUBLE PRECISION NOT NULL,
    next_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_world_schedules PRIMARY KEY (kind),
    CONSTRAINT ck_world_schedules_interval_s CHECK (interval_s > 0 AND interval_s < 'infinity')
);

CREATE TABLE planning_input_versions (
    planning_input_version_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    content BYTEA NOT NULL,
    comment TEXT,
    created_by TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_planning_input_versions PRIMARY KEY (planning_input_version_id),
    CONSTRAINT uq_planning_input_versions_name_version UNIQUE (name, version),
    CONSTRAINT ck_planning_input_versions_version CHECK (version > 0)
);

CREATE TABLE plan_runs (
    plan_run_id BIGINT GENERATED ALWAYS AS IDENTITY,
    trigger TEXT NOT NULL,
    requested_by TEXT,
    request_reason TEXT,
    dry_run BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    input_versions JSONB,
    window_start TIMESTAMP WITH TIME ZONE,
    window_end TIMESTAMP WITH TIME ZONE,
    parent_placement_plan_id BIGINT,
    placement_plan_id BIGINT,
    progress JSONB NOT NULL,
    report JSONB,
    reason TEXT,
    error TEXT,
    bundle TEXT,
    cancel_requested BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_plan_runs PRIMARY KEY (plan_run_id),
    CONSTRAINT ck_plan_runs_trigger CHECK (trigger IN ('schedule', 'request')),
    CONSTRAINT ck_plan_runs_status CHECK (status IN ('queued', 'running', 'done', 'stale', 'failed', 'cancelled'))
);

CREATE INDEX ix_plan_runs_open ON plan_runs (plan_run_id) WHERE status IN ('queued', 'running');

CREATE TABLE placement_plans (
    placement_plan_id BIGINT GENERATED ALWAYS AS IDENTITY,
    parent_placement_plan_id BIGINT,
    plan_run_id BIGINT NOT NULL,
    committed BOOLEAN NOT NULL,
    input_versions JSONB NOT NULL,
    overrides JSONB NOT NULL,
    summary JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_placement_plans PRIMARY KEY (placement_plan_id),
    CONSTRAINT fk_placement_plans_plan_run_id FOREIGN KEY(plan_run_id) REFERENCES plan_runs (plan_run_id),
    CONSTRAINT fk_placement_plans_parent_placement_plan_id
        FOREIGN KEY(parent_placement_plan_id) REFERENCES placement_plans (placement_plan_id)
);

ALTER TABLE plan_runs
    ADD CONSTRAINT fk_plan_runs_parent_placement_plan_id
        FOREIGN KEY(parent_placement_plan_id) REFERENCES placement_plans (placement_plan_id),
    ADD CONSTRAINT fk_plan_runs_placement_plan_id
        FOREIGN KEY(placement_plan_id) REFERENCES placement_plans (placement_plan_id);

CREATE TABLE placement_lineage (
    lineage_id SMALLINT NOT NULL,
    placement_plan_id BIGINT,
    CONSTRAINT pk_placement_lineage PRIMARY KEY (lineage_id),
    CONSTRAINT ck_placement_lineage_one CHECK (lineage_id = 1),
    CONSTRAINT fk_placement_lineage_placement_plan_id
        FOREIGN KEY(placement_plan_id) REFERENCES placement_plans (placement_plan_id)
);

INSERT INTO placement_lineage (lineage_id) VALUES (1);

CREATE TABLE placement_plan_files (
    placement_plan_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    content BYTEA NOT NULL,
    CONSTRAINT pk_placement_plan_files PRIMARY KEY (placement_plan_id, name),
    CONSTRAINT fk_placement_plan_files_placement_plan_id
        FOREIGN KEY(placement_plan_id) REFERENCES placement_plans (placement_plan_id)
);

CREATE TABLE service_models (
    service_model_id BIGINT GENERATED ALWAYS AS IDENTITY,
    plan_run_id BIGINT NOT NULL,
    service TEXT NOT NULL,
    confidence TEXT NOT NULL,
    document JSONB NOT NULL,
    CONSTRAINT pk_service_models PRIMARY KEY (service_model_id),
    CONSTRAINT uq_service_models_plan_run_id_service UNIQUE (plan_run_id, service),
    CONSTRAINT ck_service_models_confidence CHECK (confidence IN ('high', 'low')),
    CONSTRAINT fk_service_models_plan_run_id FOREIGN KEY(plan_run_id) REFERENCES plan_runs (plan_run_id)
);

CREATE TABLE plan_overrides (
    plan_override_id BIGINT GENERATED ALWAYS AS IDENTITY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    region TEXT NOT NULL,
    hardware_type TEXT,
    least DOUBLE PRECISION,
    most DOUBLE PRECISION,
    reason TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    created_by TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    withdrawn_by TEXT,
    withdrawn_at TIMESTAMP WITH TIME ZONE,
    withdrawn_reason TEXT,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_plan_overrides PRIMARY KEY (plan_override_id),
    CONSTRAINT ck_plan_overrides_kind CHECK (kind IN ('capacity', 'presence')),
    CONSTRAINT ck_plan_overrides_bounds
        CHECK (coalesce(least, most) IS NOT NULL AND coalesce(least, 0) <= coalesce(most, 'infinity')),
    CONSTRAINT ck_plan_overrides_withdrawn CHECK ((withdrawn_by IS NULL) = (withdrawn_at IS NULL))
);

CREATE INDEX ix_plan_overrides_live ON plan_overrides (plan_override_id) WHERE withdrawn_at IS NULL;

CREATE TABLE executed_changes (
    placement_plan_id BIGINT NOT NULL,
    action TEXT NOT NULL,
    phase TEXT NOT NULL,
    planned DOUBLE PRECISION NOT NULL,
    executed DOUBLE PRECISION NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_executed_changes PRIMARY KEY (placement_plan_id, action),
    CONSTRAINT ck_executed_changes_phase CHECK (phase IN ('upsize', 'downsize')),
    CONSTRAINT ck_executed_changes_planned CHECK (planned > 0),
    CONSTRAINT ck_executed_changes_executed CHECK (executed >= 0 AND executed < 'infinity'),
    CONSTRAINT fk_executed_changes_placement_plan_id
        FOREIGN KEY(placement_plan_id) REFERENCES placement_plans (placement_plan_id)
);
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON plan_overrides "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    for table in ("planning_input_versions", "placement_plans"):
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting()"
        )


def downgrade() -> None:
    op.execute("ALTER TABLE plan_runs DROP CONSTRAINT fk_plan_runs_parent_placement_plan_id")
    op.execute("ALTER TABLE plan_runs DROP CONSTRAINT fk_plan_runs_placement_plan_id")
    op.execute(
        "DROP TABLE executed_changes, plan_overrides, service_models, placement_plan_files, placement_lineage, "
        "placement_plans, plan_runs, planning_input_versions, world_schedules"
    )
