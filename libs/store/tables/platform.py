"""Audit entries, tokens, sessions, jobs, schedules and tallies."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

audit_entries = sa.Table(
    "audit_entries",
    metadata,
    key("audit_entry_id"),
    at("at"),
    text("actor"),
    text("action"),
    text("subject_kind"),
    sa.Column("subject_id", sa.BigInteger, nullable=False),
    json("before", nullable=True),
    json("after", nullable=True),
    text("reason", nullable=True),
    text("person", nullable=True),
    sa.Index("ix_audit_entries_subject", "subject_kind", "subject_id", "audit_entry_id"),
)

tokens = sa.Table(
    "tokens",
    metadata,
    key("token_id"),
    text("name"),
    sa.Column("secret_sha256", sa.LargeBinary, nullable=False),
    text("role"),
    at("created_at"),
    at("revoked_at", nullable=True),
    sa.Column("owners", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'::text[]")),
    sa.Column("previous_sha256", sa.LargeBinary, nullable=True),
    at("previous_until", nullable=True),
    generation(),
    text("person", nullable=True),
    sa.UniqueConstraint("name"),
    sa.UniqueConstraint("secret_sha256"),
    sa.UniqueConstraint("previous_sha256"),
    one_of("role", "viewer", "requester", "operator", "admin", "allocator", "health", "telemetry", "executor"),
    sa.CheckConstraint("role = 'requester' OR cardinality(owners) = 0", name="owners"),
    sa.CheckConstraint("(previous_sha256 IS NULL) = (previous_until IS NULL)", name="previous_until"),
)

# Browsers work in real time, so these times are the database's own now(), never the Clock's.
sessions = sa.Table(
    "sessions",
    metadata,
    key("session_id"),
    sa.Column("secret_sha256", sa.LargeBinary, nullable=False),
    ref("tokens.token_id", nullable=True),
    at("created_at"),
    at("seen_at"),
    text("person", nullable=True),
    text("sealed_bearer", nullable=True),
    at("bearer_ends_at", nullable=True),
    sa.UniqueConstraint("secret_sha256"),
    sa.CheckConstraint(
        "num_nonnulls(token_id, person) = 1 AND num_nonnulls(person, sealed_bearer, bearer_ends_at) IN (0, 3)",
        name="holder",
    ),
    sa.Index("ix_sessions_seen_at", "seen_at"),
)

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("token_id", sa.BigInteger, sa.ForeignKey("tokens.token_id"), nullable=True),
    text("key"),
    sa.Column("request_sha256", sa.LargeBinary, nullable=False),
    sa.Column("status_code", sa.Integer, nullable=False),
    json("headers"),
    json("body", nullable=True),
    at("created_at"),
    text("person", nullable=True),
    sa.UniqueConstraint("token_id", "key"),
    sa.UniqueConstraint("person", "key"),
    sa.CheckConstraint("num_nonnulls(token_id, person) = 1", name="holder"),
    sa.Index("ix_idempotency_keys_created_at", "created_at"),
)

# Leases measure processes, which run in real time. So these times are the database's own now(), never the Clock's.
jobs = sa.Table(
    "jobs",
    metadata,
    key("job_id"),
    text("kind"),
    text("subject"),
    json("arguments"),
    text("status"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    text("worker", nullable=True),
    text("error", nullable=True),
    at("created_at"),
    at("sent_at", nullable=True),
    at("lease_expires_at", nullable=True),
    at("finished_at", nullable=True),
    sa.Column("sends", sa.Integer, nullable=False, server_default=sa.text("0")),
    text("trace", nullable=True),
    text("lane", nullable=True),
    one_of("status", "queued", "running", "done", "superseded", "failed"),
    sa.Index("uq_jobs_queued", "kind", "subject", unique=True, postgresql_where=sa.text("status = 'queued'")),
    sa.Index("uq_jobs_running", "kind", "subject", unique=True, postgresql_where=sa.text("status = 'running'")),
)

# Parts of running jobs, likewise by the database's own now(). The job of a part has its id as its subject.
job_parts = sa.Table(
    "job_parts",
    metadata,
    key("job_part_id"),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=True),
    at("wanted_until"),
)

# The time of the next run of each cycle of a region, on the injected Clock.
schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("interval_s", sa.Double, nullable=False),
    at("next_at"),
    sa.CheckConstraint("interval_s > 0 AND interval_s < 'infinity'", name="interval_s"),
)

# Likewise for cycles that belong to no region.
world_schedules = sa.Table(
    "world_schedules",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("interval_s", sa.Double, nullable=False),
    at("next_at"),
    sa.CheckConstraint("interval_s > 0 AND interval_s < 'infinity'", name="interval_s"),
)

# The time of the last run of each retention, on the Clock. It bounds the effect of a jump of the Clock.
retention_clocks = sa.Table(
    "retention_clocks",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    at("at"),
)

# Sums over processes that Prometheus does not scrape. `labels` are in the order of the tally's names.
tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("labels", ARRAY(sa.Text), primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
)
