"""The capacity ledger: events, what must come before them, and their history."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.tables.columns import at, generation, key, metadata, one_of, text

_LIVE = "status IN ('proposed', 'approved', 'active')"
_STATUSES = ("proposed", "approved", "active", "succeeded", "failed", "superseded", "cancelled")

# Only status, achieved, changed_at and generation change; a trigger refuses all else. They repeat the last row of
# capacity_event_changes. A placement plan may be deleted, so its id is no foreign key.
capacity_events = sa.Table(
    "capacity_events",
    metadata,
    key("capacity_event_id"),
    text("kind"),
    text("service", nullable=True),
    text("region", nullable=True),
    text("hardware_type", nullable=True),
    text("product", nullable=True),
    text("from_region", nullable=True),
    text("to_region", nullable=True),
    sa.Column("amount", sa.Double, nullable=False),
    text("writer"),
    text("author"),
    text("reason"),
    at("starts_at"),
    sa.Column("lead_time_h", sa.Double, nullable=False),
    sa.Column("placement_plan_id", sa.BigInteger, nullable=True),
    text("action", nullable=True),
    at("proposed_at"),
    text("status"),
    sa.Column("achieved", sa.Double, nullable=False),
    at("changed_at"),
    generation(),
    one_of("kind", "capacity", "traffic"),
    one_of("writer", "flux", "person", "budget"),
    one_of("status", *_STATUSES),
    sa.CheckConstraint(
        "CASE kind WHEN 'capacity' THEN num_nulls(service, region, hardware_type) = 0 "
        "AND num_nonnulls(product, from_region, to_region) = 0 "
        "ELSE num_nulls(product, from_region, to_region) = 0 "
        "AND num_nonnulls(service, region, hardware_type) = 0 AND from_region <> to_region END",
        name="effect",
    ),
    sa.CheckConstraint(
        "amount > '-infinity' AND amount < 'infinity' AND amount <> 0 "
        "AND (kind = 'capacity' OR (amount > 0 AND amount <= 1))",
        name="amount",
    ),
    sa.CheckConstraint(
        "achieved > '-infinity' AND achieved < 'infinity' AND (status NOT IN ('proposed', 'approved') OR achieved = 0)",
        name="achieved",
    ),
    sa.CheckConstraint("lead_time_h >= 0 AND lead_time_h < 'infinity'", name="lead_time_h"),
    sa.CheckConstraint("action IS NULL OR placement_plan_id IS NOT NULL", name="action"),
    sa.Index(
        "ix_capacity_events_place",
        "service",
        "region",
        "hardware_type",
        "starts_at",
        postgresql_where=sa.text("kind = 'capacity'"),
    ),
    sa.Index("ix_capacity_events_region", "region", postgresql_where=sa.text("kind = 'capacity'")),
    sa.Index("ix_capacity_events_product", "product", "starts_at", postgresql_where=sa.text("kind = 'traffic'")),
    sa.Index("ix_capacity_events_live", "status", "capacity_event_id", postgresql_where=sa.text(_LIVE)),
    sa.Index(
        "ix_capacity_events_plan",
        "placement_plan_id",
        "capacity_event_id",
        postgresql_where=sa.text("placement_plan_id IS NOT NULL"),
    ),
    # So a writer that repeats its proposals cannot double them.
    sa.Index(
        "uq_capacity_events_live_action",
        "placement_plan_id",
        "action",
        "service",
        "region",
        "hardware_type",
        "product",
        "from_region",
        "to_region",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=sa.text(f"action IS NOT NULL AND {_LIVE}"),
    ),
)

# Append-only. Ids rise, so the order of the two columns excludes cycles. Both are ids of capacity_events: a trigger
# checks it once per statement, because two foreign keys take ten times as long.
capacity_event_antecedents = sa.Table(
    "capacity_event_antecedents",
    metadata,
    sa.Column("capacity_event_id", sa.BigInteger, primary_key=True),
    sa.Column("antecedent_id", sa.BigInteger, primary_key=True),
    sa.CheckConstraint("antecedent_id < capacity_event_id", name="earlier"),
    sa.Index("ix_capacity_event_antecedents_antecedent_id", "antecedent_id"),
)

# Append-only. The key (event, generation) is the compare-and-swap.
capacity_event_changes = sa.Table(
    "capacity_event_changes",
    metadata,
    sa.Column("capacity_event_id", sa.BigInteger, sa.ForeignKey("capacity_events.capacity_event_id"), primary_key=True),
    sa.Column("generation", sa.BigInteger, primary_key=True, autoincrement=False),
    text("status"),
    text("changed_by"),
    text("reason", nullable=True),
    sa.Column("achieved", sa.Double, nullable=False),
    at("changed_at"),
    one_of("status", *_STATUSES),
    sa.CheckConstraint("generation >= 1", name="generation"),
)
