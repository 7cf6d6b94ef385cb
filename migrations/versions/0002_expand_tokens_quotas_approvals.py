"""Add access control: token owners, quotas, approvals and time windows.

Existing requester tokens get no owners. They can read, but they cannot write until an admin names their owners.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TOKENS = """
ALTER TABLE tokens
    ADD COLUMN owners TEXT[] DEFAULT '{}'::text[] NOT NULL,
    ADD COLUMN previous_sha256 BYTEA,
    ADD COLUMN previous_until TIMESTAMP WITH TIME ZONE,
    ADD COLUMN generation BIGINT DEFAULT 1 NOT NULL,
    ADD CONSTRAINT uq_tokens_previous_sha256 UNIQUE (previous_sha256),
    DROP CONSTRAINT ck_tokens_role,
    ADD CONSTRAINT ck_tokens_role CHECK (role IN ('viewer', 'requester', 'operator', 'admin', 'allocator', 'health')),
    ADD CONSTRAINT ck_tokens_owners CHECK (role = 'requester' OR cardinality(owners) = 0),
    ADD CONSTRAINT ck_tokens_previous_until CHECK ((previous_sha256 IS NULL) = (previous_until IS NULL));
"""

WINDOWS = """
ALTER TABLE reservations
    ADD COLUMN starts_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN ends_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN scheduled BOOLEAN DEFAULT false NOT NULL,
    ADD CONSTRAINT ck_reservations_ends_at CHECK (ends_at > starts_at),
    ADD CONSTRAINT ck_reservations_scheduled CHECK (NOT scheduled OR starts_at IS NOT NULL);

CREATE INDEX ix_reservations_windows ON reservations (region_id)
    WHERE deleted_at IS NULL AND (scheduled OR ends_at IS NOT NULL);
"""

REQUESTS = """
ALTER TABLE capacity_requests
    ADD COLUMN given_reason TEXT,
    ADD COLUMN accepted BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN amended_by TEXT[] DEFAULT '{}'::text[] NOT NULL,
    DROP CONSTRAINT ck_capacity_requests_phase,
    ADD CONSTRAINT ck_capacity_requests_phase CHECK (phase IN ('submitted', 'assessing', 'awaiting_approval',
        'scheduled', 'granted', 'degraded', 'rejected', 'withdrawn'));

CREATE INDEX ix_capacity_requests_undecided ON capacity_requests (region_id, owner)
    WHERE phase IN ('submitted', 'assessing', 'awaiting_approval');
"""

TABLES = """
CREATE TABLE quotas (
    region_id BIGINT NOT NULL,
    owner TEXT NOT NULL,
    quota_id BIGINT GENERATED ALWAYS AS IDENTITY,
    limit_rru DOUBLE PRECISION,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_quotas PRIMARY KEY (region_id, owner),
    CONSTRAINT uq_quotas_quota_id UNIQUE (quota_id),
    CONSTRAINT fk_quotas_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT ck_quotas_limit_rru CHECK (limit_rru >= 0 AND limit_rru < 'infinity')
);

CREATE TABLE approval_limits (
    region_id BIGINT NOT NULL,
    size_rru DOUBLE PRECISION,
    hardware_share DOUBLE PRECISION,
    four_eyes BOOLEAN NOT NULL,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_approval_limits PRIMARY KEY (region_id),
    CONSTRAINT fk_approval_limits_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT ck_approval_limits_size_rru CHECK (size_rru >= 0 AND size_rru < 'infinity'),
    CONSTRAINT ck_approval_limits_hardware_share CHECK (hardware_share >= 0 AND hardware_share <= 1)
);

CREATE TABLE approvals (
    approval_id BIGINT GENERATED ALWAYS AS IDENTITY,
    region_id BIGINT NOT NULL,
    capacity_request_id BIGINT,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    causes JSONB NOT NULL,
    change JSONB NOT NULL,
    before JSONB,
    asked_by TEXT[] NOT NULL,
    given_reason TEXT,
    decided_by TEXT,
    decision_reason TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE,
    generation BIGINT DEFAULT 1 NOT NULL,
    CONSTRAINT pk_approvals PRIMARY KEY (approval_id),
    CONSTRAINT fk_approvals_region_id FOREIGN KEY(region_id) REFERENCES regions (region_id),
    CONSTRAINT fk_approvals_capacity_request_id FOREIGN KEY(capacity_request_id)
        REFERENCES capacity_requests (capacity_request_id),
    CONSTRAINT ck_approvals_kind CHECK (kind IN ('capacity_request', 'region_policy')),
    CONSTRAINT ck_approvals_status CHECK (status IN ('pending', 'approved', 'rejected', 'superseded')),
    CONSTRAINT ck_approvals_capacity_request_id CHECK (
        (kind = 'capacity_request') = (capacity_request_id IS NOT NULL))
);

CREATE INDEX ix_approvals_region_id ON approvals (region_id, approval_id);

CREATE UNIQUE INDEX uq_approvals_pending_request ON approvals (capacity_request_id)
    WHERE status IN ('pending', 'approved');

CREATE UNIQUE INDEX uq_approvals_pending_policy ON approvals (region_id)
    WHERE status = 'pending' AND kind = 'region_policy';
"""
CONTENDED = ("tokens", "quotas", "approval_limits", "approvals")


def upgrade() -> None:
    for statements in (TOKENS, WINDOWS, REQUESTS, TABLES):
        op.execute(statements)
    for table in CONTENDED:
        op.execute(
            f"CREATE TRIGGER raise_generation BEFORE UPDATE ON {table} "
            "FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION raise_generation()"
        )


def downgrade() -> None:
    raise RuntimeError("windows, owners and approvals would be lost: restore a backup instead")
