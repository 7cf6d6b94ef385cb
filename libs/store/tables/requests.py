"""Requests for capacity, with the quotas and approvals that decide on them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

capacity_requests = sa.Table(
    "capacity_requests",
    metadata,
    key("capacity_request_id"),
    ref("regions.region_id"),
    text("kind"),
    text("reservation_name"),
    sa.Column("reservation_id", sa.BigInteger, nullable=True),
    text("owner"),
    json("spec"),
    sa.Column("reservation_generation", sa.BigInteger, nullable=True),
    text("phase"),
    text("reason"),
    text("message"),
    json("numbers"),
    text("requested_by"),
    generation(),
    at("created_at"),
    at("changed_at"),
    sa.ForeignKeyConstraint(["region_id", "reservation_id"], ["reservations.region_id", "reservations.reservation_id"]),
    one_of("kind", "create", "resize", "delete"),
    text("given_reason", nullable=True),
    # True once it was accepted for later. Its reservation is stored, and its window has yet to begin.
    sa.Column("accepted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("amended_by", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'::text[]")),
    one_of(
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

# The columns limit_rru and size_rru count cost units. They keep their names for processes of the previous version.
# A row stays when its limit is lifted. Its generation keeps rising, so a stale If-Match is always detected.
quotas = sa.Table(
    "quotas",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("quota_id", sa.BigInteger, sa.Identity(always=True), nullable=False),
    sa.Column("limit_rru", sa.Double, nullable=True, key="limit_cost_units"),
    generation(),
    sa.UniqueConstraint("quota_id"),
    sa.CheckConstraint("limit_rru >= 0 AND limit_rru < 'infinity'", name="limit_rru"),
)

# Written before the call, so that no interval has two calls that may arrive.
approval_reminders = sa.Table(
    "approval_reminders",
    metadata,
    sa.Column("recipient", sa.Text, primary_key=True),
    sa.Column("due_at", sa.DateTime(timezone=True), primary_key=True),
    text("status"),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("waiting", sa.Integer, nullable=False),
    at("oldest_at"),
    text("message", nullable=True),
    one_of("status", "due", "calling", "sent", "failed", "unknown"),
    sa.Index("ix_approval_reminders_open", "due_at", postgresql_where=sa.text("status IN ('due', 'calling')")),
)

approval_limits = sa.Table(
    "approval_limits",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("size_rru", sa.Double, nullable=True, key="size_cost_units"),
    sa.Column("hardware_share", sa.Double, nullable=True),
    sa.Column("four_eyes", sa.Boolean, nullable=False),
    generation(),
    sa.Column("policy_prices", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.CheckConstraint("size_rru >= 0 AND size_rru < 'infinity'", name="size_rru"),
    sa.CheckConstraint("hardware_share >= 0 AND hardware_share <= 1", name="hardware_share"),
)

approvals = sa.Table(
    "approvals",
    metadata,
    key("approval_id"),
    # NULL for an action of a plan: the regions of the world may be in other installations.
    ref("regions.region_id", nullable=True),
    ref("capacity_requests.capacity_request_id", nullable=True),
    sa.Column("plan_execution_id", sa.BigInteger, nullable=True),
    sa.Column("position", sa.Integer, nullable=True),
    text("for_owner", nullable=True),
    text("kind"),
    text("status"),
    json("causes"),
    json("change"),
    json("before", nullable=True),
    sa.Column("asked_by", ARRAY(sa.Text), nullable=False),
    text("given_reason", nullable=True),
    text("decided_by", nullable=True),
    text("decision_reason", nullable=True),
    text("reject_kind", nullable=True),
    at("created_at"),
    at("decided_at", nullable=True),
    generation(),
    one_of(
        "kind", "capacity_request", "region_policy", "maintenance_override", "rru_class", "below_hold", "plan_action"
    ),
    one_of("status", "pending", "approved", "rejected", "superseded"),
    sa.CheckConstraint("(kind = 'capacity_request') = (capacity_request_id IS NOT NULL)", name="capacity_request_id"),
    sa.CheckConstraint(
        "CASE WHEN kind = 'plan_action' THEN num_nonnulls(plan_execution_id, position) = 2 AND region_id IS NULL "
        "ELSE num_nonnulls(plan_execution_id, position) = 0 AND region_id IS NOT NULL END",
        name="subject",
    ),
    sa.Index("ix_approvals_region_id", "region_id", "approval_id"),
    sa.Index("ix_approvals_decided_at", "decided_at"),
    sa.Index(
        "ix_approvals_capacity_request_id",
        "capacity_request_id",
        postgresql_where=sa.text("capacity_request_id IS NOT NULL"),
    ),
    sa.Index(
        "uq_approvals_plan_action",
        "plan_execution_id",
        "position",
        unique=True,
        postgresql_where=sa.text("plan_execution_id IS NOT NULL"),
    ),
    sa.Index(
        "ix_approvals_pending",
        "kind",
        "for_owner",
        "created_at",
        postgresql_where=sa.text("status = 'pending'"),
    ),
    # At most one approval per subject waits. A new one supersedes the one before.
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
    sa.Index(
        "uq_approvals_pending_rru_class",
        "region_id",
        sa.text("(change ->> 'workload_class')"),
        unique=True,
        postgresql_where=sa.text("status = 'pending' AND kind = 'rru_class'"),
    ),
    sa.Index(
        "uq_approvals_below_hold",
        "region_id",
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'approved') AND kind = 'below_hold'"),
    ),
)

# The reservations that a plan lets fall below *hold* once that is approved, and those whose servers wait for them.
