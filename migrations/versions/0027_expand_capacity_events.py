"""Add the capacity ledger: `capacity_events`, `capacity_event_antecedents`, `capacity_event_changes`.

Processes of the previous version do not read it.
"""

from __future__ import annotations

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

STATUSES = "'proposed', 'approved', 'active', 'succeeded', 'failed', 'superseded', 'cancelled'"
LIVE = "status IN ('proposed', 'approved', 'active')"
FIXED = (
    "capacity_event_id, kind, service, region, hardware_type, product, from_region, to_region, amount, writer, author, "
    "reason, starts_at, lead_time_h, placement_plan_id, action, proposed_at"
)
TABLES = f"""
CREATE TABLE capacity_events (
    capacity_event_id BIGINT GENERATED ALWAYS AS IDENTITY,
    kind TEXT NOT NULL,
    service TEXT,
    region TEXT,
    hardware_type TEXT,
    product TEXT,
    from_region TEXT,
    to_region TEXT,
    amount DOUBLE PRECISION NOT NULL,
    writer TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    lead_time_h DOUBLE PRECISION NOT NULL,
    placement_plan_id BIGINT,
    action TEXT,
    proposed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    status TEXT NOT NULL,
    achieved DOUBLE PRECISION NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_capacity_events PRIMARY KEY (capacity_event_id),
    CONSTRAINT ck_capacity_events_kind CHECK (kind IN ('capacity', 'traffic')),
    CONSTRAINT ck_capacity_events_writer CHECK (writer IN ('flux', 'person', 'budget')),
    CONSTRAINT ck_capacity_events_status CHECK (status IN ({STATUSES})),
    CONSTRAINT ck_capacity_events_effect CHECK (
        CASE kind WHEN 'capacity' THEN num_nulls(service, region, hardware_type) = 0
            AND num_nonnulls(product, from_region, to_region) = 0
        ELSE num_nulls(product, from_region, to_region) = 0
            AND num_nonnulls(service, region, hardware_type) = 0 AND from_region <> to_region END
    ),
    CONSTRAINT ck_capacity_events_amount CHECK (
        amount > '-infinity' AND amount < 'infinity' AND amount <> 0
        AND (kind = 'capacity' OR (amount > 0 AND amount <= 1))
    ),
    CONSTRAINT ck_capacity_events_achieved CHECK (
        achieved > '-infinity' AND achieved < 'infinity'
        AND (status NOT IN ('proposed', 'approved') OR achieved = 0)
    ),
    CONSTRAINT ck_capacity_events_lead_time_h CHECK (lead_time_h >= 0 AND lead_time_h < 'infinity'),
    CONSTRAINT ck_capacity_events_action CHECK (action IS NULL OR placement_plan_id IS NOT NULL)
);

CREATE INDEX ix_capacity_events_place ON capacity_events (service, region, hardware_type, starts_at)
    WHERE kind = 'capacity';
CREATE INDEX ix_capacity_events_region ON capacity_events (region) WHERE kind = 'capacity';
CREATE INDEX ix_capacity_events_product ON capacity_events (product, starts_at) WHERE kind = 'traffic';
CREATE INDEX ix_capacity_events_live ON capacity_events (status, capacity_event_id) WHERE {LIVE};
CREATE INDEX ix_capacity_events_plan ON capacity_events (placement_plan_id, capacity_event_id)
    WHERE placement_plan_id IS NOT NULL;
CREATE UNIQUE INDEX uq_capacity_events_live_action ON capacity_events
    (placement_plan_id, action, service, region, hardware_type, product, from_region, to_region) NULLS NOT DISTINCT
    WHERE action IS NOT NULL AND {LIVE};

CREATE TABLE capacity_event_antecedents (
    capacity_event_id BIGINT NOT NULL,
    antecedent_id BIGINT NOT NULL,
    CONSTRAINT pk_capacity_event_antecedents PRIMARY KEY (capacity_event_id, antecedent_id),
    CONSTRAINT ck_capacity_event_antecedents_earlier CHECK (antecedent_id < capacity_event_id),
    CONSTRAINT fk_capacity_event_antecedents_capacity_event_id
        FOREIGN KEY(capacity_event_id) REFERENCES capacity_events (capacity_event_id),
    CONSTRAINT fk_capacity_event_antecedents_antecedent_id
        FOREIGN KEY(antecedent_id) REFERENCES capacity_events (capacity_event_id)
);

CREATE INDEX ix_capacity_event_antecedents_antecedent_id ON capacity_event_antecedents (antecedent_id);

CREATE TABLE capacity_event_changes (
    capacity_event_id BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    status TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    reason TEXT,
    achieved DOUBLE PRECISION NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_capacity_event_changes PRIMARY KEY (capacity_event_id, generation),
    CONSTRAINT ck_capacity_event_changes_status CHECK (status IN ({STATUSES})),
    CONSTRAINT ck_capacity_event_changes_generation CHECK (generation >= 1),
    CONSTRAINT fk_capacity_event_changes_capacity_event_id
        FOREIGN KEY(capacity_event_id) REFERENCES capacity_events (capacity_event_id)
);
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON capacity_events "
        "FOR EACH ROW EXECUTE FUNCTION raise_generation()"
    )
    op.execute(
        f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OF {FIXED} OR DELETE OR TRUNCATE ON capacity_events "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting()"
    )
    for table in ("capacity_event_antecedents", "capacity_event_changes"):
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting()"
        )


def downgrade() -> None:
    op.execute("DROP TABLE capacity_event_changes, capacity_event_antecedents, capacity_events")
