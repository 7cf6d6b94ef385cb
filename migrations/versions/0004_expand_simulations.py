"""Add simulations: the what-if, its outcome, and the changes that its answer would make."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE simulations (
    simulation_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    requested_by TEXT NOT NULL,
    what_if JSONB NOT NULL,
    status TEXT NOT NULL,
    progress JSONB NOT NULL,
    report JSONB,
    error TEXT,
    bundle TEXT,
    rests_on JSONB,
    cancel_requested BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    applied_plan_id BIGINT,
    applied_by TEXT,
    applied_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_simulations PRIMARY KEY (simulation_id),
    CONSTRAINT fk_simulations_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT fk_simulations_applied_plan_id_region_id
        FOREIGN KEY(applied_plan_id, region_id) REFERENCES plans (plan_id, region_id),
    CONSTRAINT ck_simulations_status CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled'))
);

CREATE INDEX ix_simulations_region_id ON simulations (region_id, simulation_id);

CREATE TABLE simulation_changes (
    simulation_id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    server_generation BIGINT NOT NULL,
    to_reservation TEXT,
    CONSTRAINT pk_simulation_changes PRIMARY KEY (simulation_id, server_id),
    CONSTRAINT fk_simulation_changes_simulation_id
        FOREIGN KEY(simulation_id) REFERENCES simulations (simulation_id) ON DELETE CASCADE
);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE simulation_changes; DROP TABLE simulations")
