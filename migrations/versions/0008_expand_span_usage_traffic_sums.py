"""Add telemetry: spans waiting to be summed, their sums, usage and traffic by hour, and metric sources.

The changes are new tables and one more role. Processes of the previous version use neither.
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE traced_services (
    traced_service_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    named_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_traced_services PRIMARY KEY (traced_service_id),
    CONSTRAINT uq_traced_services_name UNIQUE (name)
);

CREATE TABLE traced_products (
    traced_product_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    named_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_traced_products PRIMARY KEY (traced_product_id),
    CONSTRAINT uq_traced_products_name UNIQUE (name)
);

CREATE TABLE span_batches (
    span_batch_id BIGINT GENERATED ALWAYS AS IDENTITY,
    arrived_at TIMESTAMP WITH TIME ZONE NOT NULL,
    spans INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    content BYTEA NOT NULL,
    CONSTRAINT pk_span_batches PRIMARY KEY (span_batch_id),
    CONSTRAINT ck_span_batches_spans CHECK (spans >= 0 AND rejected >= 0)
);

CREATE TABLE closed_traces (
    closed_traces_id BIGINT GENERATED ALWAYS AS IDENTITY,
    closed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    traces INTEGER NOT NULL,
    content BYTEA NOT NULL,
    CONSTRAINT pk_closed_traces PRIMARY KEY (closed_traces_id)
);

-- Random numbers do not compress: trying costs time.
ALTER TABLE span_batches ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE closed_traces ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE demand_sums (
    day DATE NOT NULL,
    traced_service_id BIGINT NOT NULL,
    traced_product_id BIGINT NOT NULL,
    cpu DOUBLE PRECISION[] NOT NULL,
    calls DOUBLE PRECISION[] NOT NULL,
    self_time DOUBLE PRECISION[] NOT NULL,
    CONSTRAINT pk_demand_sums PRIMARY KEY (day, traced_service_id, traced_product_id),
    CONSTRAINT fk_demand_sums_traced_service_id
        FOREIGN KEY(traced_service_id) REFERENCES traced_services (traced_service_id),
    CONSTRAINT fk_demand_sums_traced_product_id
        FOREIGN KEY(traced_product_id) REFERENCES traced_products (traced_product_id)
) WITH (fillfactor = 50);

CREATE TABLE entry_sums (
    day DATE NOT NULL,
    traced_product_id BIGINT NOT NULL,
    requests DOUBLE PRECISION[] NOT NULL,
    CONSTRAINT pk_entry_sums PRIMARY KEY (day, traced_product_id),
    CONSTRAINT fk_entry_sums_traced_product_id
        FOREIGN KEY(traced_product_id) REFERENCES traced_products (traced_product_id)
);

CREATE TABLE span_sums (
    day DATE NOT NULL,
    traced_service_id BIGINT NOT NULL,
    spans DOUBLE PRECISION NOT NULL,
    attributed DOUBLE PRECISION NOT NULL,
    orphaned DOUBLE PRECISION NOT NULL,
    cpu_stated DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_span_sums PRIMARY KEY (day, traced_service_id),
    CONSTRAINT fk_span_sums_traced_service_id
        FOREIGN KEY(traced_service_id) REFERENCES traced_services (traced_service_id)
) WITH (fillfactor = 50);

CREATE TABLE call_sums (
    day DATE NOT NULL,
    caller_id BIGINT NOT NULL,
    callee_id BIGINT NOT NULL,
    calls DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_call_sums PRIMARY KEY (day, caller_id, callee_id),
    CONSTRAINT fk_call_sums_caller_id FOREIGN KEY(caller_id) REFERENCES traced_services (traced_service_id),
    CONSTRAINT fk_call_sums_callee_id FOREIGN KEY(callee_id) REFERENCES traced_services (traced_service_id)
) WITH (fillfactor = 50);

CREATE TABLE trace_days (
    day DATE NOT NULL,
    received DOUBLE PRECISION NOT NULL,
    rejected DOUBLE PRECISION NOT NULL,
    late DOUBLE PRECISION NOT NULL,
    duplicates DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_trace_days PRIMARY KEY (day)
);

CREATE TABLE usage_series (
    usage_series_id BIGINT GENERATED ALWAYS AS IDENTITY,
    service TEXT NOT NULL,
    region TEXT NOT NULL,
    hardware_type TEXT NOT NULL,
    CONSTRAINT pk_usage_series PRIMARY KEY (usage_series_id),
    CONSTRAINT uq_usage_series_service_region_hardware_type UNIQUE (service, region, hardware_type)
);

CREATE TABLE traffic_series (
    traffic_series_id BIGINT GENERATED ALWAYS AS IDENTITY,
    product TEXT NOT NULL,
    region TEXT NOT NULL,
    CONSTRAINT pk_traffic_series PRIMARY KEY (traffic_series_id),
    CONSTRAINT uq_traffic_series_product_region UNIQUE (product, region)
);

CREATE TABLE usage_hours (
    hour INTEGER NOT NULL,
    usage_series_id BIGINT NOT NULL,
    samples BYTEA NOT NULL,
    CONSTRAINT pk_usage_hours PRIMARY KEY (hour, usage_series_id),
    CONSTRAINT fk_usage_hours_usage_series_id FOREIGN KEY(usage_series_id) REFERENCES usage_series (usage_series_id),
    CONSTRAINT ck_usage_hours_samples CHECK (length(samples) = 240)
) WITH (fillfactor = 70);

CREATE TABLE traffic_hours (
    hour INTEGER NOT NULL,
    traffic_series_id BIGINT NOT NULL,
    samples BYTEA NOT NULL,
    CONSTRAINT pk_traffic_hours PRIMARY KEY (hour, traffic_series_id),
    CONSTRAINT fk_traffic_hours_traffic_series_id
        FOREIGN KEY(traffic_series_id) REFERENCES traffic_series (traffic_series_id),
    CONSTRAINT ck_traffic_hours_samples CHECK (length(samples) = 240)
) WITH (fillfactor = 70);

ALTER TABLE usage_hours ALTER COLUMN samples SET STORAGE PLAIN;
ALTER TABLE traffic_hours ALTER COLUMN samples SET STORAGE PLAIN;

CREATE TABLE metric_sources (
    metric_source_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    fills TEXT NOT NULL,
    query TEXT NOT NULL,
    labels JSONB NOT NULL,
    constants JSONB NOT NULL,
    step_minutes INTEGER NOT NULL,
    scale DOUBLE PRECISION NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_metric_sources PRIMARY KEY (metric_source_id),
    CONSTRAINT uq_metric_sources_name UNIQUE (name),
    CONSTRAINT ck_metric_sources_fills CHECK (fills IN ('usage', 'traffic')),
    CONSTRAINT ck_metric_sources_step_minutes CHECK (step_minutes BETWEEN 1 AND 60),
    CONSTRAINT ck_metric_sources_scale CHECK (scale > 0 AND scale < 'infinity')
);

CREATE TABLE metric_pulls (
    metric_source_id BIGINT NOT NULL,
    pulled_until TIMESTAMP WITH TIME ZONE NOT NULL,
    attempted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    samples BIGINT NOT NULL,
    series_left_out BIGINT NOT NULL,
    error TEXT,
    CONSTRAINT pk_metric_pulls PRIMARY KEY (metric_source_id),
    CONSTRAINT fk_metric_pulls_metric_source_id
        FOREIGN KEY(metric_source_id) REFERENCES metric_sources (metric_source_id) ON DELETE CASCADE
);
"""


def _roles(*roles: str) -> None:
    listed = ", ".join(f"'{role}'" for role in roles)
    op.execute("ALTER TABLE tokens DROP CONSTRAINT ck_tokens_role")
    op.execute(f"ALTER TABLE tokens ADD CONSTRAINT ck_tokens_role CHECK (role IN ({listed}))")


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(
        "CREATE TRIGGER raise_generation BEFORE UPDATE ON metric_sources "
        "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
    )
    _roles("viewer", "requester", "operator", "admin", "allocator", "health", "telemetry")


def downgrade() -> None:
    op.execute("UPDATE tokens SET role = 'viewer' WHERE role = 'telemetry'")
    _roles("viewer", "requester", "operator", "admin", "allocator", "health")
    op.execute("DROP TABLE metric_pulls, metric_sources, traffic_hours, usage_hours, traffic_series, usage_series")
    op.execute("DROP TABLE trace_days, call_sums, span_sums, entry_sums, demand_sums, closed_traces, span_batches")
    op.execute("DROP TABLE traced_products, traced_services")
