"""Add executions of placement plans: `plan_executions`, `execution_actions`, `execution_places`, `execution_commands`,
`gate_readings`.

Processes of the previous version do not read them.
"""

from __future__ import annotations

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE plan_executions (
    plan_execution_id BIGINT GENERATED ALWAYS AS IDENTITY,
    placement_plan_id BIGINT NOT NULL,
    reverses_execution_id BIGINT,
    state TEXT NOT NULL,
    terms JSONB NOT NULL,
    pools JSONB NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_plan_executions PRIMARY KEY (plan_execution_id),
    CONSTRAINT ck_plan_executions_state CHECK (state IN ('draft', 'running', 'pausing', 'paused', 'aborting',
        'reversing', 'superseding', 'done', 'reversed', 'aborted', 'superseded')),
    CONSTRAINT fk_plan_executions_placement_plan_id FOREIGN KEY(placement_plan_id) REFERENCES placement_plans
        (placement_plan_id),
    CONSTRAINT fk_plan_executions_reverses_execution_id FOREIGN KEY(reverses_execution_id) REFERENCES
        plan_executions (plan_execution_id)
);
CREATE INDEX ix_plan_executions_open ON plan_executions (plan_execution_id) WHERE state NOT IN ('draft',
        'done', 'reversed', 'aborted', 'superseded');
CREATE UNIQUE INDEX uq_plan_executions_reverses ON plan_executions (reverses_execution_id) WHERE
        reverses_execution_id IS NOT NULL;
CREATE TABLE execution_actions (
    plan_execution_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    action TEXT NOT NULL,
    phase TEXT NOT NULL,
    service TEXT,
    product TEXT,
    region TEXT,
    to_region TEXT,
    hardware_type TEXT,
    before DOUBLE PRECISION NOT NULL,
    after DOUBLE PRECISION NOT NULL,
    lead_time_h DOUBLE PRECISION NOT NULL,
    estimate_h DOUBLE PRECISION NOT NULL,
    start_h DOUBLE PRECISION NOT NULL,
    approval TEXT[] NOT NULL,
    waits_for INTEGER[] NOT NULL,
    capacity_event_id BIGINT,
    state TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    reached DOUBLE PRECISION NOT NULL,
    asked DOUBLE PRECISION NOT NULL,
    size DOUBLE PRECISION NOT NULL,
    since_s DOUBLE PRECISION NOT NULL,
    again_s DOUBLE PRECISION NOT NULL,
    paused BOOLEAN NOT NULL,
    person BOOLEAN NOT NULL,
    overridden DOUBLE PRECISION NOT NULL,
    note TEXT,
    CONSTRAINT pk_execution_actions PRIMARY KEY (plan_execution_id, position),
    CONSTRAINT uq_execution_actions_plan_execution_id_action UNIQUE (plan_execution_id, action),
    CONSTRAINT ck_execution_actions_phase CHECK (phase IN ('upsize', 'shift', 'downsize', 'settled', 'grow')),
    CONSTRAINT ck_execution_actions_state CHECK (state IN ('awaiting_approval', 'waiting', 'running', 'baking',
        'held', 'reversing', 'failed', 'reversed', 'taken_over', 'done', 'skipped')),
    CONSTRAINT ck_execution_actions_fractions CHECK (reached >= 0 AND reached <= 1 AND asked >= 0 AND asked <= 1),
    CONSTRAINT fk_execution_actions_plan_execution_id FOREIGN KEY(plan_execution_id) REFERENCES plan_executions
        (plan_execution_id),
    CONSTRAINT fk_execution_actions_capacity_event_id FOREIGN KEY(capacity_event_id) REFERENCES capacity_events
        (capacity_event_id)
);
CREATE TABLE execution_places (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    region TEXT NOT NULL,
    plan_execution_id BIGINT NOT NULL,
    CONSTRAINT pk_execution_places PRIMARY KEY (kind, name, region),
    CONSTRAINT ck_execution_places_kind CHECK (kind IN ('service', 'product')),
    CONSTRAINT fk_execution_places_plan_execution_id FOREIGN KEY(plan_execution_id) REFERENCES plan_executions
        (plan_execution_id)
);
CREATE INDEX ix_execution_places_plan_execution_id ON execution_places (plan_execution_id);
CREATE TABLE execution_commands (
    execution_command_id BIGINT GENERATED ALWAYS AS IDENTITY,
    plan_execution_id BIGINT NOT NULL,
    level TEXT NOT NULL,
    verb TEXT NOT NULL,
    subject TEXT NOT NULL,
    size DOUBLE PRECISION,
    reason TEXT,
    reject_kind TEXT,
    actor TEXT NOT NULL,
    given_at TIMESTAMP WITH TIME ZONE NOT NULL,
    accepted BOOLEAN NOT NULL,
    code TEXT,
    message TEXT,
    changed INTEGER NOT NULL,
    CONSTRAINT pk_execution_commands PRIMARY KEY (execution_command_id),
    CONSTRAINT ck_execution_commands_level CHECK (level IN ('plan', 'phase', 'action')),
    CONSTRAINT ck_execution_commands_outcome CHECK (accepted = (code IS NULL)),
    CONSTRAINT fk_execution_commands_plan_execution_id FOREIGN KEY(plan_execution_id) REFERENCES
        plan_executions (plan_execution_id)
);
CREATE INDEX ix_execution_commands_plan_execution_id ON execution_commands (plan_execution_id,
        execution_command_id);
CREATE TABLE gate_readings (
    gate_reading_id BIGINT GENERATED ALWAYS AS IDENTITY,
    plan_execution_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    gate TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    value DOUBLE PRECISION,
    query TEXT NOT NULL,
    bound TEXT NOT NULL,
    note TEXT,
    CONSTRAINT pk_gate_readings PRIMARY KEY (gate_reading_id),
    CONSTRAINT fk_gate_readings_plan_execution_id_position FOREIGN KEY(plan_execution_id,
        position) REFERENCES execution_actions (plan_execution_id, position)
);
CREATE INDEX ix_gate_readings_action ON gate_readings (plan_execution_id, position, gate_reading_id);
CREATE INDEX ix_gate_readings_recent ON gate_readings (plan_execution_id, at);
"""
FIXED = (
    "plan_execution_id, position, action, phase, service, product, region, to_region, hardware_type, before, after, "
    "lead_time_h, estimate_h, start_h, approval, waits_for"
)


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON plan_executions "
        "FOR EACH ROW EXECUTE FUNCTION raise_generation()"
    )
    op.execute(
        f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OF {FIXED} OR DELETE OR TRUNCATE ON execution_actions "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_but_forgetting()"
    )
    for table in ("execution_commands", "gate_readings"):
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_but_forgetting()"
        )


def downgrade() -> None:
    op.execute("DROP TABLE gate_readings, execution_commands, execution_places, execution_actions, plan_executions")
