"""Create the first tables: regions, servers, reservations, requests, plans, moves, jobs and the audit trail.

Tables stand by the service that owns them, in an order that foreign keys allow.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Owner: broker. A region, its places, its kinds of servers, and the audit trail.
BROKER = """
-- A region with the policy of its solves. target_plan_id is the last plan; commits compare and swap it.
CREATE TABLE regions (
    region_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    policy JSONB NOT NULL,
    target_plan_id BIGINT,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_regions PRIMARY KEY (region_id),
    CONSTRAINT uq_regions_name UNIQUE (name)
);

-- The buildings of a region.
CREATE TABLE datacenters (
    datacenter_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    CONSTRAINT pk_datacenters PRIMARY KEY (datacenter_id),
    CONSTRAINT uq_datacenters_region_id_name UNIQUE (region_id, name),
    CONSTRAINT uq_datacenters_region_id_datacenter_id UNIQUE (region_id, datacenter_id),
    CONSTRAINT fk_datacenters_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

-- Main switch boards, the largest domains that fail as one.
CREATE TABLE msbs (
    msb_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    datacenter_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    CONSTRAINT pk_msbs PRIMARY KEY (msb_id),
    CONSTRAINT uq_msbs_region_id_name UNIQUE (region_id, name),
    CONSTRAINT uq_msbs_region_id_msb_id UNIQUE (region_id, msb_id),
    CONSTRAINT fk_msbs_region_id_datacenter_id
        FOREIGN KEY(region_id, datacenter_id) REFERENCES datacenters (region_id, datacenter_id),
    CONSTRAINT fk_msbs_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

-- The racks of an MSB.
CREATE TABLE racks (
    rack_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    msb_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    CONSTRAINT pk_racks PRIMARY KEY (rack_id),
    CONSTRAINT uq_racks_region_id_name UNIQUE (region_id, name),
    CONSTRAINT uq_racks_region_id_rack_id UNIQUE (region_id, rack_id),
    CONSTRAINT fk_racks_region_id_msb_id FOREIGN KEY(region_id, msb_id) REFERENCES msbs (region_id, msb_id),
    CONSTRAINT fk_racks_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

-- Kinds of servers, of all regions.
CREATE TABLE hardware_types (
    hardware_type_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    attributes JSONB NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_hardware_types PRIMARY KEY (hardware_type_id),
    CONSTRAINT uq_hardware_types_name UNIQUE (name)
);

-- Who did what to which row, and why. Append-only.
CREATE TABLE audit_entries (
    audit_entry_id BIGINT GENERATED ALWAYS AS IDENTITY,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id BIGINT NOT NULL,
    before JSONB,
    after JSONB,
    reason TEXT,
    CONSTRAINT pk_audit_entries PRIMARY KEY (audit_entry_id)
);

CREATE INDEX ix_audit_entries_subject ON audit_entries (subject_kind, subject_id, audit_entry_id);
"""

# Owner: portal. Clients, reservations, and requests for them.
PORTAL = """
-- The bearer tokens of clients, as hashes, each with its role.
CREATE TABLE tokens (
    token_id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    secret_sha256 BYTEA NOT NULL,
    role TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_tokens PRIMARY KEY (token_id),
    CONSTRAINT uq_tokens_name UNIQUE (name),
    CONSTRAINT uq_tokens_secret_sha256 UNIQUE (secret_sha256),
    CONSTRAINT ck_tokens_role CHECK (role IN ('viewer', 'requester', 'operator', 'admin'))
);

-- The answers to writes, kept for clients that repeat a request.
CREATE TABLE idempotency_keys (
    token_id BIGINT NOT NULL,
    key TEXT NOT NULL,
    request_sha256 BYTEA NOT NULL,
    status_code INTEGER NOT NULL,
    headers JSONB NOT NULL,
    body JSONB,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (token_id, key),
    CONSTRAINT fk_idempotency_keys_token_id FOREIGN KEY(token_id) REFERENCES tokens (token_id)
);

CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);

-- The capacity that an owner is guaranteed, and the shared buffers.
CREATE TABLE reservations (
    reservation_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    host_profile TEXT NOT NULL,
    unit TEXT NOT NULL,
    capacity_rru DOUBLE PRECISION NOT NULL,
    survives_msb_loss BOOLEAN NOT NULL,
    msb_spread_limit DOUBLE PRECISION,
    rack_spread_limit DOUBLE PRECISION,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    deleted_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_reservations PRIMARY KEY (reservation_id),
    CONSTRAINT uq_reservations_region_id_reservation_id UNIQUE (region_id, reservation_id),
    CONSTRAINT ck_reservations_kind CHECK (kind IN ('guaranteed', 'shared_buffer', 'elastic')),
    CONSTRAINT ck_reservations_unit CHECK (unit IN ('rru', 'count')),
    CONSTRAINT ck_reservations_capacity_rru CHECK (capacity_rru >= 0 AND capacity_rru < 'infinity'),
    CONSTRAINT ck_reservations_msb_spread_limit CHECK (msb_spread_limit > 0 AND msb_spread_limit < 'infinity'),
    CONSTRAINT ck_reservations_rack_spread_limit CHECK (rack_spread_limit > 0 AND rack_spread_limit < 'infinity'),
    CONSTRAINT fk_reservations_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

CREATE UNIQUE INDEX uq_reservations_live_name ON reservations (region_id, name) WHERE deleted_at IS NULL;

-- What one server of a hardware type is worth to a reservation. A type without a row is ineligible.
CREATE TABLE reservation_rru (
    reservation_id BIGINT NOT NULL,
    hardware_type_id BIGINT NOT NULL,
    rru DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_reservation_rru PRIMARY KEY (reservation_id, hardware_type_id),
    CONSTRAINT ck_reservation_rru_rru CHECK (rru > 0 AND rru < 'infinity'),
    CONSTRAINT fk_reservation_rru_reservation_id FOREIGN KEY(reservation_id) REFERENCES reservations (reservation_id),
    CONSTRAINT fk_reservation_rru_hardware_type_id
        FOREIGN KEY(hardware_type_id) REFERENCES hardware_types (hardware_type_id)
);

-- The share of a reservation's capacity that is wanted in a datacenter.
CREATE TABLE reservation_affinity (
    region_id BIGINT NOT NULL,
    reservation_id BIGINT NOT NULL,
    datacenter_id BIGINT NOT NULL,
    share DOUBLE PRECISION NOT NULL,
    CONSTRAINT pk_reservation_affinity PRIMARY KEY (reservation_id, datacenter_id),
    CONSTRAINT fk_reservation_affinity_region_id_reservation_id
        FOREIGN KEY(region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT fk_reservation_affinity_region_id_datacenter_id
        FOREIGN KEY(region_id, datacenter_id) REFERENCES datacenters (region_id, datacenter_id),
    CONSTRAINT ck_reservation_affinity_share CHECK (share >= 0 AND share < 'infinity')
);

-- What owners asked for, and how far each request has come.
CREATE TABLE capacity_requests (
    capacity_request_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    reservation_name TEXT NOT NULL,
    reservation_id BIGINT,
    owner TEXT NOT NULL,
    spec JSONB NOT NULL,
    reservation_generation BIGINT,
    phase TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    numbers JSONB NOT NULL,
    requested_by TEXT NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_capacity_requests PRIMARY KEY (capacity_request_id),
    CONSTRAINT fk_capacity_requests_region_id_reservation_id
        FOREIGN KEY(region_id, reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT ck_capacity_requests_kind CHECK (kind IN ('create', 'resize', 'delete')),
    CONSTRAINT ck_capacity_requests_phase
        CHECK (phase IN ('submitted', 'assessing', 'granted', 'degraded', 'rejected', 'withdrawn')),
    CONSTRAINT fk_capacity_requests_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

CREATE INDEX ix_capacity_requests_region_id ON capacity_requests (region_id, capacity_request_id);

CREATE INDEX ix_capacity_requests_reservation_id ON capacity_requests (reservation_id);
"""

# Owner: broker. Servers come after the reservations that they refer to.
SERVERS = """
-- The servers. The target binding is the solver's, the current binding the mover's. NULL is free.
CREATE TABLE servers (
    server_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    rack_id BIGINT NOT NULL,
    hardware_type_id BIGINT NOT NULL,
    current_reservation_id BIGINT,
    target_reservation_id BIGINT,
    in_use BOOLEAN DEFAULT false NOT NULL,
    host_profile TEXT DEFAULT 'default' NOT NULL,
    unavailability TEXT DEFAULT 'none' NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_servers PRIMARY KEY (server_id),
    CONSTRAINT uq_servers_region_id_name UNIQUE (region_id, name),
    CONSTRAINT uq_servers_region_id_server_id UNIQUE (region_id, server_id),
    CONSTRAINT fk_servers_region_id_rack_id FOREIGN KEY(region_id, rack_id) REFERENCES racks (region_id, rack_id),
    CONSTRAINT fk_servers_region_id_current_reservation_id
        FOREIGN KEY(region_id, current_reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT fk_servers_region_id_target_reservation_id
        FOREIGN KEY(region_id, target_reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT ck_servers_unavailability CHECK (unavailability IN ('none', 'planned', 'unplanned')),
    CONSTRAINT ck_servers_in_use CHECK (NOT in_use OR current_reservation_id IS NOT NULL),
    CONSTRAINT fk_servers_hardware_type_id FOREIGN KEY(hardware_type_id) REFERENCES hardware_types (hardware_type_id)
);

CREATE INDEX ix_servers_current ON servers (current_reservation_id);

CREATE INDEX ix_servers_rack ON servers (rack_id);

CREATE INDEX ix_servers_to_move ON servers (region_id)
    WHERE current_reservation_id IS DISTINCT FROM target_reservation_id;

CREATE INDEX ix_servers_unavailable ON servers (region_id) WHERE unavailability <> 'none';

CREATE INDEX ix_servers_target ON servers (target_reservation_id);

CREATE INDEX ix_servers_free ON servers (region_id)
    WHERE current_reservation_id IS NULL AND target_reservation_id IS NULL;

-- Failures and maintenance of a server or of a place. An open one has no ended_at.
CREATE TABLE unavailability_events (
    unavailability_event_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    scope TEXT NOT NULL,
    datacenter_id BIGINT,
    msb_id BIGINT,
    rack_id BIGINT,
    server_id BIGINT,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ends_at TIMESTAMP WITH TIME ZONE,
    ended_at TIMESTAMP WITH TIME ZONE,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_unavailability_events PRIMARY KEY (unavailability_event_id),
    CONSTRAINT ck_unavailability_events_scope CHECK (scope IN ('server', 'rack', 'msb', 'datacenter')),
    CONSTRAINT ck_unavailability_events_kind CHECK (kind IN ('planned', 'unplanned')),
    CONSTRAINT ck_unavailability_events_ends_at CHECK (ends_at > starts_at),
    CONSTRAINT ck_unavailability_events_scope_id
        CHECK (
            num_nonnulls(datacenter_id, msb_id, rack_id, server_id) = 1
            AND CASE scope
                WHEN 'datacenter' THEN datacenter_id
                WHEN 'msb' THEN msb_id
                WHEN 'rack' THEN rack_id
                ELSE server_id
            END IS NOT NULL
        ),
    CONSTRAINT fk_unavailability_events_region_id_datacenter_id
        FOREIGN KEY(region_id, datacenter_id) REFERENCES datacenters (region_id, datacenter_id),
    CONSTRAINT fk_unavailability_events_region_id_msb_id
        FOREIGN KEY(region_id, msb_id) REFERENCES msbs (region_id, msb_id),
    CONSTRAINT fk_unavailability_events_region_id_rack_id
        FOREIGN KEY(region_id, rack_id) REFERENCES racks (region_id, rack_id),
    CONSTRAINT fk_unavailability_events_region_id_server_id
        FOREIGN KEY(region_id, server_id) REFERENCES servers (region_id, server_id),
    CONSTRAINT fk_unavailability_events_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

CREATE INDEX ix_unavailability_events_region_id ON unavailability_events (region_id, unavailability_event_id);

CREATE INDEX ix_unavailability_events_open ON unavailability_events (region_id) WHERE ended_at IS NULL;
"""

# Owner: solver.
SOLVER = """
-- The solves of a region, each with its progress and its report.
CREATE TABLE solve_runs (
    solve_run_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    trigger TEXT NOT NULL,
    status TEXT NOT NULL,
    seed BIGINT NOT NULL,
    parent_plan_id BIGINT,
    plan_id BIGINT,
    progress JSONB NOT NULL,
    report JSONB,
    error TEXT,
    bundle TEXT,
    cancel_requested BOOLEAN DEFAULT false NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_solve_runs PRIMARY KEY (solve_run_id),
    CONSTRAINT ck_solve_runs_status CHECK (status IN ('running', 'committed', 'unchanged', 'stale', 'failed')),
    CONSTRAINT fk_solve_runs_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

CREATE INDEX ix_solve_runs_region_id ON solve_runs (region_id, solve_run_id);
"""

# Owner: broker. Plans come after the solves and requests that made them.
PLANS = """
-- The lineage of target bindings. Every change of targets is a plan. Append-only.
CREATE TABLE plans (
    plan_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    parent_plan_id BIGINT,
    kind TEXT NOT NULL,
    solve_run_id BIGINT,
    capacity_request_id BIGINT,
    changes BIGINT NOT NULL,
    left_alone BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_plans PRIMARY KEY (plan_id),
    CONSTRAINT uq_plans_plan_id_region_id UNIQUE (plan_id, region_id),
    CONSTRAINT fk_plans_parent_plan_id_region_id
        FOREIGN KEY(parent_plan_id, region_id) REFERENCES plans (plan_id, region_id),
    CONSTRAINT ck_plans_kind CHECK (kind IN ('import', 'solve', 'grant', 'release')),
    CONSTRAINT fk_plans_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT fk_plans_solve_run_id FOREIGN KEY(solve_run_id) REFERENCES solve_runs (solve_run_id),
    CONSTRAINT fk_plans_capacity_request_id
        FOREIGN KEY(capacity_request_id) REFERENCES capacity_requests (capacity_request_id)
);

CREATE INDEX ix_plans_region_id ON plans (region_id, plan_id);

-- The servers whose target a plan changed. Append-only.
CREATE TABLE plan_changes (
    plan_id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    from_reservation_id BIGINT,
    to_reservation_id BIGINT,
    CONSTRAINT pk_plan_changes PRIMARY KEY (plan_id, server_id),
    CONSTRAINT fk_plan_changes_plan_id FOREIGN KEY(plan_id) REFERENCES plans (plan_id),
    CONSTRAINT fk_plan_changes_server_id FOREIGN KEY(server_id) REFERENCES servers (server_id)
);

CREATE INDEX ix_plan_changes_server_id ON plan_changes (server_id, plan_id);

-- Regions and solves refer to plans, and plans to them.
ALTER TABLE regions
    ADD CONSTRAINT fk_regions_target_plan_id_region_id
    FOREIGN KEY(target_plan_id, region_id) REFERENCES plans (plan_id, region_id);

ALTER TABLE solve_runs
    ADD CONSTRAINT fk_solve_runs_parent_plan_id_region_id
    FOREIGN KEY(parent_plan_id, region_id) REFERENCES plans (plan_id, region_id);

ALTER TABLE solve_runs
    ADD CONSTRAINT fk_solve_runs_plan_id_region_id
    FOREIGN KEY(plan_id, region_id) REFERENCES plans (plan_id, region_id);
"""

# Owner: mover.
MOVER = """
-- The moves of servers from one current binding to the next, step by step.
CREATE TABLE moves (
    move_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    from_reservation_id BIGINT,
    to_reservation_id BIGINT,
    steps TEXT[] NOT NULL,
    step_index INTEGER DEFAULT 0 NOT NULL,
    attempt INTEGER DEFAULT 1 NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    step_started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_moves PRIMARY KEY (move_id),
    CONSTRAINT fk_moves_region_id_server_id
        FOREIGN KEY(region_id, server_id) REFERENCES servers (region_id, server_id),
    CONSTRAINT fk_moves_region_id_from_reservation_id
        FOREIGN KEY(region_id, from_reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT fk_moves_region_id_to_reservation_id
        FOREIGN KEY(region_id, to_reservation_id) REFERENCES reservations (region_id, reservation_id),
    CONSTRAINT ck_moves_status CHECK (status IN ('running', 'done', 'cancelled', 'failed'))
);

CREATE INDEX ix_moves_server_id ON moves (server_id, move_id);

CREATE INDEX ix_moves_region_id ON moves (region_id, move_id);

CREATE UNIQUE INDEX uq_moves_running ON moves (server_id) WHERE status = 'running';

-- The attempts at steps, finished ones only. Append-only.
CREATE TABLE move_steps (
    move_id BIGINT NOT NULL,
    step_index INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step TEXT NOT NULL,
    outcome TEXT NOT NULL,
    message TEXT,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_move_steps PRIMARY KEY (move_id, step_index, attempt),
    CONSTRAINT ck_move_steps_outcome CHECK (outcome IN ('done', 'failed', 'cancelled')),
    CONSTRAINT fk_move_steps_move_id FOREIGN KEY(move_id) REFERENCES moves (move_id)
);
"""

# Owner: no service alone.
SHARED = """
-- Work to do once. A worker holds a job by its lease.
CREATE TABLE jobs (
    job_id BIGINT GENERATED ALWAYS AS IDENTITY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    arguments JSONB NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    worker TEXT,
    error TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sent_at TIMESTAMP WITH TIME ZONE,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_jobs PRIMARY KEY (job_id),
    CONSTRAINT ck_jobs_status CHECK (status IN ('queued', 'running', 'done', 'failed'))
);

CREATE UNIQUE INDEX uq_jobs_running ON jobs (kind, subject) WHERE status = 'running';

CREATE UNIQUE INDEX uq_jobs_queued ON jobs (kind, subject) WHERE status = 'queued';

-- When each kind of job is next due in a region.
CREATE TABLE schedules (
    region_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    interval_s DOUBLE PRECISION NOT NULL,
    next_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_schedules PRIMARY KEY (region_id, kind),
    CONSTRAINT ck_schedules_interval_s CHECK (interval_s > 0 AND interval_s < 'infinity'),
    CONSTRAINT fk_schedules_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id)
);

-- Whether a reservation has what it was promised, as last observed.
CREATE TABLE reservation_statuses (
    reservation_id BIGINT NOT NULL,
    observed_generation BIGINT NOT NULL,
    phase TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    numbers JSONB NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    observed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_reservation_statuses PRIMARY KEY (reservation_id),
    CONSTRAINT ck_reservation_statuses_phase CHECK (phase IN ('granted', 'degraded')),
    CONSTRAINT fk_reservation_statuses_reservation_id
        FOREIGN KEY(reservation_id) REFERENCES reservations (reservation_id)
);
"""

# A trigger raises the generation of a row at every real change, so no writer can forget it.
# An update that changes nothing leaves the generation alone and wakes no loop.
GENERATIONS = """
CREATE FUNCTION raise_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.generation := OLD.generation + 1;
    RETURN NEW;
END $$;
"""
CONTENDED = (
    "regions",
    "hardware_types",
    "reservations",
    "servers",
    "unavailability_events",
    "capacity_requests",
    "moves",
)

# Rows of history are never changed.
APPEND_ONLY = """
CREATE FUNCTION refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
HISTORY = ("plans", "plan_changes", "move_steps", "audit_entries")


def upgrade() -> None:
    for tables in (BROKER, PORTAL, SERVERS, SOLVER, PLANS, MOVER, SHARED):
        op.execute(tables)
    # Bindings change in place. Free room on the page lets such an update skip indexes that it does not touch.
    op.execute("ALTER TABLE servers SET (fillfactor = 80)")
    op.execute(GENERATIONS)
    for table in CONTENDED:
        # The commit of a solve changes no field that operators edit, so it must not make their If-Match stale.
        columns = " OF name, policy" if table == "regions" else ""
        op.execute(
            f"CREATE TRIGGER raise_generation BEFORE UPDATE{columns} ON {table} "
            "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
        )
    op.execute(APPEND_ONLY)
    for table in HISTORY:
        op.execute(
            f"CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting()"
        )


def downgrade() -> None:
    raise RuntimeError("the foundation has nothing to go back to: restore a backup instead")
