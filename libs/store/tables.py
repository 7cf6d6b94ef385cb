"""The tables, as SQLAlchemy Core sees them. The schema itself is in migrations/; a test holds the two together.

Two habits run through it. A row that writers contend for carries a `generation`, raised by a trigger on every update:
no writer can forget it. What must never happen is made impossible here and not only in code: a server has one current
and one target column, both referring to a reservation of its own region, and at most one move under way.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, sa.Identity(always=True), primary_key=True)


def _ref(column: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(column.split(".")[1], sa.BigInteger, sa.ForeignKey(column), nullable=nullable)


def _text(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, server_default=default)


def _at(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, JSONB, nullable=nullable)


def _generation() -> sa.Column[int]:
    return sa.Column("generation", sa.BigInteger, nullable=False, server_default=sa.text("1"))


def _one_of(column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{v}'" for v in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


regions = sa.Table(
    "regions",
    metadata,
    _key("region_id"),
    _text("name"),
    _json("policy"),
    sa.Column("target_plan_id", sa.BigInteger, nullable=True),
    _generation(),
    _at("created_at"),
    sa.UniqueConstraint("name"),
    sa.ForeignKeyConstraint(["target_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"], use_alter=True),
)

datacenters = sa.Table(
    "datacenters",
    metadata,
    _key("datacenter_id"),
    _ref("regions.region_id"),
    _text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "datacenter_id"),
)

msbs = sa.Table(
    "msbs",
    metadata,
    _key("msb_id"),
    _ref("regions.region_id"),
    sa.Column("datacenter_id", sa.BigInteger, nullable=False),
    _text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "msb_id"),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
)

racks = sa.Table(
    "racks",
    metadata,
    _key("rack_id"),
    _ref("regions.region_id"),
    sa.Column("msb_id", sa.BigInteger, nullable=False),
    _text("name"),
    sa.UniqueConstraint("region_id", "name"),
    sa.UniqueConstraint("region_id", "rack_id"),
    sa.ForeignKeyConstraint(["region_id", "msb_id"], ["msbs.region_id", "msbs.msb_id"]),
)

hardware_types = sa.Table(
    "hardware_types",
    metadata,
    _key("hardware_type_id"),
    _text("name"),
    _json("attributes"),
    _generation(),
    _at("created_at"),
    sa.UniqueConstraint("name"),
)

reservations = sa.Table(
    "reservations",
    metadata,
    _key("reservation_id"),
    _ref("regions.region_id"),
    _text("name"),
    _text("kind"),
    _text("owner"),
    _text("host_profile"),
    _text("unit"),
    sa.Column("capacity_rru", sa.Double, nullable=False),
    sa.Column("survives_msb_loss", sa.Boolean, nullable=False),
    sa.Column("msb_spread_limit", sa.Double, nullable=True),
    sa.Column("rack_spread_limit", sa.Double, nullable=True),
    _generation(),
    _at("created_at"),
    _at("deleted_at", nullable=True),
    _at("starts_at", nullable=True),
    _at("ends_at", nullable=True),
    # True until its window has begun: it has a name and nothing else.
    sa.Column("scheduled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("region_id", "reservation_id"),
    _one_of("kind", "guaranteed", "shared_buffer", "elastic"),
    _one_of("unit", "rru", "count"),
    sa.CheckConstraint("capacity_rru >= 0 AND capacity_rru < 'infinity'", name="capacity_rru"),
    sa.CheckConstraint("msb_spread_limit > 0 AND msb_spread_limit < 'infinity'", name="msb_spread_limit"),
    sa.CheckConstraint("rack_spread_limit > 0 AND rack_spread_limit < 'infinity'", name="rack_spread_limit"),
    sa.Index(
        "uq_reservations_live_name",
        "region_id",
        "name",
        unique=True,
        postgresql_where=sa.text("deleted_at IS NULL"),
    ),
    sa.CheckConstraint("ends_at > starts_at", name="ends_at"),
    sa.CheckConstraint("NOT scheduled OR starts_at IS NOT NULL", name="scheduled"),
    sa.Index(
        "ix_reservations_windows",
        "region_id",
        postgresql_where=sa.text("deleted_at IS NULL AND (scheduled OR ends_at IS NOT NULL)"),
    ),
)

reservation_rru = sa.Table(
    "reservation_rru",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("hardware_type_id", sa.BigInteger, sa.ForeignKey("hardware_types.hardware_type_id"), primary_key=True),
    sa.Column("rru", sa.Double, nullable=False),
    sa.CheckConstraint("rru > 0 AND rru < 'infinity'", name="rru"),
)

reservation_affinity = sa.Table(
    "reservation_affinity",
    metadata,
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, primary_key=True),
    sa.Column("datacenter_id", sa.BigInteger, primary_key=True),
    sa.Column("share", sa.Double, nullable=False),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
    sa.CheckConstraint("share >= 0 AND share < 'infinity'", name="share"),
)

# Apart from the reservation, so that a solve's findings do not raise the generation that owners compare-and-swap on.
reservation_statuses = sa.Table(
    "reservation_statuses",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, sa.ForeignKey("reservations.reservation_id"), primary_key=True),
    sa.Column("observed_generation", sa.BigInteger, nullable=False),
    _text("phase"),
    _text("reason"),
    _text("message"),
    _json("numbers"),
    _at("changed_at"),
    _at("observed_at"),
    _one_of("phase", "granted", "degraded"),
)

servers = sa.Table(
    "servers",
    metadata,
    _key("server_id"),
    sa.Column("region_id", sa.BigInteger, nullable=False),  # a region that exists: the rack's
    _text("name"),
    sa.Column("rack_id", sa.BigInteger, nullable=False),
    _ref("hardware_types.hardware_type_id"),
    sa.Column("current_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("target_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("in_use", sa.Boolean, nullable=False, server_default=sa.false()),
    _text("host_profile", default="default"),
    _text("unavailability", default="none"),
    _generation(),
    _at("decommissioned_at", nullable=True),
    sa.UniqueConstraint("region_id", "server_id"),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(
        ["region_id", "current_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "target_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    _one_of("unavailability", "none", "planned", "unplanned"),
    sa.CheckConstraint("NOT in_use OR current_reservation_id IS NOT NULL", name="in_use"),
    # A query that forgets to ask whether a server is still there takes it for one that is down.
    sa.CheckConstraint(
        "decommissioned_at IS NULL OR (current_reservation_id IS NULL AND target_reservation_id IS NULL "
        "AND unavailability = 'unplanned')",
        name="decommissioned",
    ),
    sa.Index(
        "uq_servers_live_name", "region_id", "name", unique=True, postgresql_where=sa.text("decommissioned_at IS NULL")
    ),
    sa.Index("ix_servers_current", "current_reservation_id"),
    sa.Index("ix_servers_target", "target_reservation_id"),
    sa.Index("ix_servers_rack", "rack_id"),
    sa.Index(
        "ix_servers_to_move",
        "region_id",
        postgresql_where=sa.text("current_reservation_id IS DISTINCT FROM target_reservation_id"),
    ),
    sa.Index(
        "ix_servers_free",
        "region_id",
        postgresql_where=sa.text("current_reservation_id IS NULL AND target_reservation_id IS NULL"),
    ),
    sa.Index("ix_servers_unavailable", "region_id", postgresql_where=sa.text("unavailability <> 'none'")),
)

unavailability_events = sa.Table(
    "unavailability_events",
    metadata,
    _key("unavailability_event_id"),
    _ref("regions.region_id"),
    _text("scope"),
    sa.Column("datacenter_id", sa.BigInteger, nullable=True),
    sa.Column("msb_id", sa.BigInteger, nullable=True),
    sa.Column("rack_id", sa.BigInteger, nullable=True),
    sa.Column("server_id", sa.BigInteger, nullable=True),
    _text("kind"),
    _text("reason"),
    _at("starts_at"),
    _at("ends_at", nullable=True),
    _at("ended_at", nullable=True),
    _generation(),
    _one_of("scope", "server", "rack", "msb", "datacenter"),
    _one_of("kind", "planned", "unplanned"),
    sa.CheckConstraint("ends_at > starts_at", name="ends_at"),
    sa.CheckConstraint(
        "num_nonnulls(datacenter_id, msb_id, rack_id, server_id) = 1 AND CASE scope "
        "WHEN 'datacenter' THEN datacenter_id WHEN 'msb' THEN msb_id "
        "WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
        name="scope_id",
    ),
    sa.ForeignKeyConstraint(["region_id", "datacenter_id"], ["datacenters.region_id", "datacenters.datacenter_id"]),
    sa.ForeignKeyConstraint(["region_id", "msb_id"], ["msbs.region_id", "msbs.msb_id"]),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.Index("ix_unavailability_events_region_id", "region_id", "unavailability_event_id"),
    sa.Index("ix_unavailability_events_open", "region_id", postgresql_where=sa.text("ended_at IS NULL")),
)

capacity_requests = sa.Table(
    "capacity_requests",
    metadata,
    _key("capacity_request_id"),
    _ref("regions.region_id"),
    _text("kind"),
    _text("reservation_name"),
    sa.Column("reservation_id", sa.BigInteger, nullable=True),
    _text("owner"),
    _json("spec"),
    sa.Column("reservation_generation", sa.BigInteger, nullable=True),
    _text("phase"),
    _text("reason"),
    _text("message"),
    _json("numbers"),
    _text("requested_by"),
    _generation(),
    _at("created_at"),
    _at("changed_at"),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    _one_of("kind", "create", "resize", "delete"),
    _text("given_reason", nullable=True),
    # True once it was accepted for later: its reservation is stored, and what is left is to begin.
    sa.Column("accepted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("amended_by", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'::text[]")),
    _one_of(
        "phase",
        *("submitted", "assessing", "awaiting_approval", "scheduled"),
        *("granted", "degraded", "rejected", "withdrawn"),
    ),
    sa.Index("ix_capacity_requests_region_id", "region_id", "capacity_request_id"),
    sa.Index("ix_capacity_requests_reservation_id", "reservation_id"),
    sa.Index(
        "ix_capacity_requests_undecided",
        "region_id",
        "owner",
        postgresql_where=sa.text("phase IN ('submitted', 'assessing', 'awaiting_approval')"),
    ),
)

solve_runs = sa.Table(
    "solve_runs",
    metadata,
    _key("solve_run_id"),
    _ref("regions.region_id"),
    _text("trigger"),
    _text("status"),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("parent_plan_id", sa.BigInteger, nullable=True),
    sa.Column("plan_id", sa.BigInteger, nullable=True),
    _json("progress"),
    _json("report", nullable=True),
    _text("error", nullable=True),
    _text("bundle", nullable=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    _at("started_at"),
    _at("finished_at", nullable=True),
    sa.ForeignKeyConstraint(["parent_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"], use_alter=True),
    sa.ForeignKeyConstraint(["plan_id", "region_id"], ["plans.plan_id", "plans.region_id"], use_alter=True),
    _one_of("status", "running", "committed", "unchanged", "stale", "failed"),
    sa.Index("ix_solve_runs_region_id", "region_id", "solve_run_id"),
)

plans = sa.Table(
    "plans",
    metadata,
    _key("plan_id"),
    _ref("regions.region_id"),
    sa.Column("parent_plan_id", sa.BigInteger, nullable=True),
    _text("kind"),
    _ref("solve_runs.solve_run_id", nullable=True),
    _ref("capacity_requests.capacity_request_id", nullable=True),
    sa.Column("changes", sa.BigInteger, nullable=False),
    sa.Column("left_alone", sa.BigInteger, nullable=False),
    _at("created_at"),
    sa.UniqueConstraint("plan_id", "region_id"),
    sa.ForeignKeyConstraint(["parent_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"]),
    _one_of("kind", "import", "solve", "grant", "release", "replacement"),
    sa.Index("ix_plans_region_id", "region_id", "plan_id"),
)

plan_changes = sa.Table(
    "plan_changes",
    metadata,
    sa.Column("plan_id", sa.BigInteger, sa.ForeignKey("plans.plan_id"), primary_key=True),
    sa.Column("server_id", sa.BigInteger, sa.ForeignKey("servers.server_id"), primary_key=True),
    sa.Column("from_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("to_reservation_id", sa.BigInteger, nullable=True),
    sa.Index("ix_plan_changes_server_id", "server_id", "plan_id"),
)

simulations = sa.Table(
    "simulations",
    metadata,
    _key("simulation_id"),
    _ref("regions.region_id"),
    _text("requested_by"),
    _json("what_if"),
    _text("status"),
    _json("progress"),
    _json("report", nullable=True),
    _text("error", nullable=True),
    _text("bundle", nullable=True),
    _json("rests_on", nullable=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    _at("created_at"),
    _at("started_at", nullable=True),
    _at("finished_at", nullable=True),
    sa.Column("applied_plan_id", sa.BigInteger, nullable=True),
    _text("applied_by", nullable=True),
    _at("applied_at", nullable=True),
    sa.ForeignKeyConstraint(["applied_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"]),
    _one_of("status", "queued", "running", "done", "failed", "cancelled"),
    sa.Index("ix_simulations_region_id", "region_id", "simulation_id"),
)

# What a simulation's answer binds elsewhere, for whoever applies it.
simulation_changes = sa.Table(
    "simulation_changes",
    metadata,
    sa.Column(
        "simulation_id",
        sa.BigInteger,
        sa.ForeignKey("simulations.simulation_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("server_id", sa.BigInteger, primary_key=True),
    # Not called generation: it is what a server's was, and is never raised.
    sa.Column("server_generation", sa.BigInteger, nullable=False),
    _text("to_reservation", nullable=True),
)

moves = sa.Table(
    "moves",
    metadata,
    _key("move_id"),
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("server_id", sa.BigInteger, nullable=False),
    sa.Column("from_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("to_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("steps", ARRAY(sa.Text), nullable=False),
    sa.Column("step_index", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("attempt", sa.Integer, nullable=False, server_default=sa.text("1")),
    _text("status"),
    _text("reason", nullable=True),
    _at("step_started_at"),
    _generation(),
    _at("created_at"),
    _at("finished_at", nullable=True),
    _at("ask_at", nullable=True),
    sa.Column("calls_failed", sa.Integer, nullable=False, server_default=sa.text("0")),
    _text("note", nullable=True),
    _text("dead_letter", nullable=True),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.ForeignKeyConstraint(
        ["region_id", "from_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "to_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    _one_of("status", "running", "done", "cancelled", "failed"),
    _one_of("dead_letter", "open", "retried", "skipped", "mended"),
    sa.Index("ix_moves_dead_letters", "server_id", postgresql_where=sa.text("dead_letter = 'open'")),
    sa.Index("ix_moves_started", "region_id", "created_at"),
    sa.Index("uq_moves_running", "server_id", unique=True, postgresql_where=sa.text("status = 'running'")),
    sa.Index("ix_moves_region_id", "region_id", "move_id"),
    sa.Index("ix_moves_server_id", "server_id", "move_id"),
)

move_steps = sa.Table(
    "move_steps",
    metadata,
    sa.Column("move_id", sa.BigInteger, sa.ForeignKey("moves.move_id"), primary_key=True),
    sa.Column("step_index", sa.Integer, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    _text("step"),
    _text("outcome"),
    _text("message", nullable=True),
    _at("started_at"),
    _at("finished_at"),
    _one_of("outcome", "done", "failed", "cancelled", "skipped"),
)

# What operators set for a region's mover (None: the environment's), and below it what its circuit breaker notes.
movers = sa.Table(
    "movers",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    _at("paused_at", nullable=True),
    _text("paused_reason", nullable=True),
    sa.Column("moves_max", sa.Integer, nullable=True),
    sa.Column("msb_share_max", sa.Double, nullable=True),
    sa.Column("msb_moves_max", sa.Integer, nullable=True),
    sa.Column("msb_starts_per_minute", sa.Integer, nullable=True),
    _generation(),
    _at("patient_since", nullable=True),
    sa.Column("ticks_failed", sa.Integer, nullable=False, server_default=sa.text("0")),
    _at("probe_at", nullable=True),
    sa.CheckConstraint("moves_max > 0", name="moves_max"),
    sa.CheckConstraint("msb_share_max > 0 AND msb_share_max <= 1", name="msb_share_max"),
    sa.CheckConstraint("msb_moves_max > 0", name="msb_moves_max"),
    sa.CheckConstraint("msb_starts_per_minute > 0", name="msb_starts_per_minute"),
)

region_conditions = sa.Table(
    "region_conditions",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("type", sa.Text, primary_key=True),
    _text("status"),
    _text("reason"),
    _text("message"),
    _json("numbers"),
    _at("changed_at"),
    _at("observed_at"),
    _one_of("status", "True", "False", "Unknown"),
)

audit_entries = sa.Table(
    "audit_entries",
    metadata,
    _key("audit_entry_id"),
    _at("at"),
    _text("actor"),
    _text("action"),
    _text("subject_kind"),
    sa.Column("subject_id", sa.BigInteger, nullable=False),
    _json("before", nullable=True),
    _json("after", nullable=True),
    _text("reason", nullable=True),
    sa.Index("ix_audit_entries_subject", "subject_kind", "subject_id", "audit_entry_id"),
)

tokens = sa.Table(
    "tokens",
    metadata,
    _key("token_id"),
    _text("name"),
    sa.Column("secret_sha256", sa.LargeBinary, nullable=False),
    _text("role"),
    _at("created_at"),
    _at("revoked_at", nullable=True),
    sa.Column("owners", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'::text[]")),
    sa.Column("previous_sha256", sa.LargeBinary, nullable=True),
    _at("previous_until", nullable=True),
    _generation(),
    sa.UniqueConstraint("name"),
    sa.UniqueConstraint("secret_sha256"),
    sa.UniqueConstraint("previous_sha256"),
    _one_of("role", "viewer", "requester", "operator", "admin", "allocator", "health"),
    sa.CheckConstraint("role = 'requester' OR cardinality(owners) = 0", name="owners"),
    sa.CheckConstraint("(previous_sha256 IS NULL) = (previous_until IS NULL)", name="previous_until"),
)

# A row stays when its limit is lifted: its generation goes on, so that a stale If-Match is always seen.
quotas = sa.Table(
    "quotas",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("quota_id", sa.BigInteger, sa.Identity(always=True), nullable=False),
    sa.Column("limit_rru", sa.Double, nullable=True),
    _generation(),
    sa.UniqueConstraint("quota_id"),
    sa.CheckConstraint("limit_rru >= 0 AND limit_rru < 'infinity'", name="limit_rru"),
)

approval_limits = sa.Table(
    "approval_limits",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("size_rru", sa.Double, nullable=True),
    sa.Column("hardware_share", sa.Double, nullable=True),
    sa.Column("four_eyes", sa.Boolean, nullable=False),
    _generation(),
    sa.CheckConstraint("size_rru >= 0 AND size_rru < 'infinity'", name="size_rru"),
    sa.CheckConstraint("hardware_share >= 0 AND hardware_share <= 1", name="hardware_share"),
)

approvals = sa.Table(
    "approvals",
    metadata,
    _key("approval_id"),
    _ref("regions.region_id"),
    _ref("capacity_requests.capacity_request_id", nullable=True),
    _text("kind"),
    _text("status"),
    _json("causes"),
    _json("change"),
    _json("before", nullable=True),
    sa.Column("asked_by", ARRAY(sa.Text), nullable=False),
    _text("given_reason", nullable=True),
    _text("decided_by", nullable=True),
    _text("decision_reason", nullable=True),
    _at("created_at"),
    _at("decided_at", nullable=True),
    _generation(),
    _one_of("kind", "capacity_request", "region_policy"),
    _one_of("status", "pending", "approved", "rejected", "superseded"),
    sa.CheckConstraint("(kind = 'capacity_request') = (capacity_request_id IS NOT NULL)", name="capacity_request_id"),
    sa.Index("ix_approvals_region_id", "region_id", "approval_id"),
    # One thing waits once: what is asked anew supersedes what was asked before.
    sa.Index(
        "uq_approvals_pending_request",
        "capacity_request_id",
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'approved')"),
    ),
    sa.Index(
        "uq_approvals_pending_policy",
        "region_id",
        unique=True,
        postgresql_where=sa.text("status = 'pending' AND kind = 'region_policy'"),
    ),
)

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("token_id", sa.BigInteger, sa.ForeignKey("tokens.token_id"), primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("request_sha256", sa.LargeBinary, nullable=False),
    sa.Column("status_code", sa.Integer, nullable=False),
    _json("headers"),
    _json("body", nullable=True),
    _at("created_at"),
    sa.Index("ix_idempotency_keys_created_at", "created_at"),
)

# Leases measure processes, and processes live in real time: these are the database's own now(), never the Clock's.
jobs = sa.Table(
    "jobs",
    metadata,
    _key("job_id"),
    _text("kind"),
    _text("subject"),
    _json("arguments"),
    _text("status"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    _text("worker", nullable=True),
    _text("error", nullable=True),
    _at("created_at"),
    _at("sent_at", nullable=True),
    _at("lease_expires_at", nullable=True),
    _at("finished_at", nullable=True),
    sa.Column("sends", sa.Integer, nullable=False, server_default=sa.text("0")),
    _text("trace", nullable=True),
    _one_of("status", "queued", "running", "done", "failed"),
    sa.Index("uq_jobs_queued", "kind", "subject", unique=True, postgresql_where=sa.text("status = 'queued'")),
    sa.Index("uq_jobs_running", "kind", "subject", unique=True, postgresql_where=sa.text("status = 'running'")),
)

# When the next run of each cycle is due, on the injected Clock.
schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("interval_s", sa.Double, nullable=False),
    _at("next_at"),
    sa.CheckConstraint("interval_s > 0 AND interval_s < 'infinity'", name="interval_s"),
)

# A rack or server that leaves the fleet, or becomes another type, once it is empty and due.
retirements = sa.Table(
    "retirements",
    metadata,
    _key("retirement_id"),
    _ref("regions.region_id"),
    _text("scope"),
    sa.Column("rack_id", sa.BigInteger, nullable=True),
    sa.Column("server_id", sa.BigInteger, nullable=True),
    _text("kind"),
    sa.Column("to_hardware_type_id", sa.BigInteger, sa.ForeignKey("hardware_types.hardware_type_id"), nullable=True),
    _text("reason"),
    _at("due_at"),
    _at("back_at", nullable=True),
    _text("status", default="announced"),
    _generation(),
    _at("created_at"),
    _at("finished_at", nullable=True),
    _one_of("scope", "server", "rack"),
    _one_of("kind", "decommission", "refresh"),
    _one_of("status", "announced", "done", "cancelled"),
    sa.CheckConstraint(
        "num_nonnulls(rack_id, server_id) = 1 AND CASE scope WHEN 'rack' THEN rack_id ELSE server_id END IS NOT NULL",
        name="scope_id",
    ),
    sa.CheckConstraint("(kind = 'refresh') = (to_hardware_type_id IS NOT NULL)", name="to_hardware_type_id"),
    sa.CheckConstraint("back_at IS NULL OR (back_at > due_at AND kind = 'refresh')", name="back_at"),
    sa.CheckConstraint("(status = 'announced') = (finished_at IS NULL)", name="finished_at"),
    sa.ForeignKeyConstraint(["region_id", "rack_id"], ["racks.region_id", "racks.rack_id"]),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.Index("ix_retirements_region_id", "region_id", "retirement_id"),
    sa.Index("uq_retirements_rack", "rack_id", unique=True, postgresql_where=sa.text("status = 'announced'")),
    sa.Index("uq_retirements_server", "server_id", unique=True, postgresql_where=sa.text("status = 'announced'")),
)

# A proposal to change the servers of a region, and what it comes to; applied as it stands or not at all.
imports = sa.Table(
    "imports",
    metadata,
    _key("import_id"),
    _ref("regions.region_id"),
    _text("mode"),
    _text("status"),
    _json("counts"),
    _json("attributes"),
    _text("proposed_by"),
    _text("decided_by", nullable=True),
    _generation(),
    _at("created_at"),
    _at("decided_at", nullable=True),
    _one_of("mode", "merge", "only_add", "prune"),
    _one_of("status", "proposed", "confirmed", "discarded"),
    sa.Index("ix_imports_region_id", "region_id", "import_id"),
)

import_items = sa.Table(
    "import_items",
    metadata,
    sa.Column("import_id", sa.BigInteger, sa.ForeignKey("imports.import_id"), primary_key=True),
    sa.Column("item_index", sa.BigInteger, primary_key=True),
    _text("action"),
    _text("server"),
    _ref("servers.server_id", nullable=True),
    sa.Column("server_generation", sa.BigInteger, nullable=True),
    _text("reservation", nullable=True),
    _text("datacenter", nullable=True),
    _text("msb", nullable=True),
    _text("rack", nullable=True),
    _text("hardware_type", nullable=True),
    _text("unavailability", nullable=True),
    _text("was_msb", nullable=True),
    _text("was_rack", nullable=True),
    _text("was_hardware_type", nullable=True),
    _text("was_unavailability", nullable=True),
    _one_of("action", "add", "change", "retire", "refuse", "keep"),
    sa.CheckConstraint("(action = 'add') = (server_id IS NULL)", name="server_id"),
    sa.Index("ix_import_items_action", "import_id", "action", "item_index"),
)

# Sums of what processes count that nobody scrapes; `labels` are in the order in which the tally names them.
tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("labels", ARRAY(sa.Text), primary_key=True),
    sa.Column("value", sa.Double, nullable=False),
)
