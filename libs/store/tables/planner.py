"""Planning inputs, plan runs, placement plans and overrides."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

# Append-only. The content of a version is canonical Parquet.
planning_input_versions = sa.Table(
    "planning_input_versions",
    metadata,
    key("planning_input_version_id"),
    text("name"),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    text("comment", nullable=True),
    text("created_by"),
    at("created_at"),
    sa.UniqueConstraint("name", "version"),
    sa.CheckConstraint("version > 0", name="version"),
)

# The parent of a run or a plan may be deleted, so its id is no foreign key.
plan_runs = sa.Table(
    "plan_runs",
    metadata,
    key("plan_run_id"),
    text("trigger"),
    text("requested_by", nullable=True),
    text("request_reason", nullable=True),
    sa.Column("dry_run", sa.Boolean, nullable=False),
    json("what_if", nullable=True),
    text("status"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    json("input_versions", nullable=True),
    at("window_start", nullable=True),
    at("window_end", nullable=True),
    sa.Column("parent_placement_plan_id", sa.BigInteger, nullable=True),
    sa.Column(
        "placement_plan_id",
        sa.BigInteger,
        sa.ForeignKey("placement_plans.placement_plan_id", use_alter=True),
        nullable=True,
    ),
    json("progress"),
    json("report", nullable=True),
    text("reason", nullable=True),
    text("error", nullable=True),
    text("bundle", nullable=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    at("created_at"),
    at("started_at", nullable=True),
    at("finished_at", nullable=True),
    one_of("trigger", "schedule", "request"),
    one_of("status", "queued", "running", "done", "stale", "failed", "cancelled"),
    sa.Index("ix_plan_runs_open", "plan_run_id", postgresql_where=sa.text("status IN ('queued', 'running')")),
)

placement_plans = sa.Table(
    "placement_plans",
    metadata,
    key("placement_plan_id"),
    sa.Column("parent_placement_plan_id", sa.BigInteger, nullable=True),
    ref("plan_runs.plan_run_id"),
    sa.Column("committed", sa.Boolean, nullable=False),
    json("input_versions"),
    json("overrides"),
    json("summary"),
    at("created_at"),
)

# One row: the target plan. Commits compare-and-swap on it.
placement_lineage = sa.Table(
    "placement_lineage",
    metadata,
    sa.Column("lineage_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("placement_plan_id", sa.BigInteger, sa.ForeignKey("placement_plans.placement_plan_id"), nullable=True),
    sa.CheckConstraint("lineage_id = 1", name="one"),
)

placement_plan_files = sa.Table(
    "placement_plan_files",
    metadata,
    sa.Column("placement_plan_id", sa.BigInteger, sa.ForeignKey("placement_plans.placement_plan_id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

service_models = sa.Table(
    "service_models",
    metadata,
    key("service_model_id"),
    ref("plan_runs.plan_run_id"),
    text("service"),
    text("confidence"),
    json("document"),
    sa.UniqueConstraint("plan_run_id", "service"),
    one_of("confidence", "high", "low"),
)

plan_overrides = sa.Table(
    "plan_overrides",
    metadata,
    key("plan_override_id"),
    text("kind"),
    text("subject"),
    text("region"),
    text("hardware_type", nullable=True),
    sa.Column("least", sa.Double, nullable=True),
    sa.Column("most", sa.Double, nullable=True),
    text("reason"),
    at("expires_at", nullable=True),
    text("created_by"),
    at("created_at"),
    text("withdrawn_by", nullable=True),
    at("withdrawn_at", nullable=True),
    text("withdrawn_reason", nullable=True),
    generation(),
    one_of("kind", "capacity", "presence"),
    sa.CheckConstraint(
        "coalesce(least, most) IS NOT NULL AND coalesce(least, 0) <= coalesce(most, 'infinity')", name="bounds"
    ),
    sa.CheckConstraint("(withdrawn_by IS NULL) = (withdrawn_at IS NULL)", name="withdrawn"),
    sa.Index("ix_plan_overrides_live", "plan_override_id", postgresql_where=sa.text("withdrawn_at IS NULL")),
)

# The executed amounts of a plan's actions. An orchestrator writes them, and the next plan reads them.
executed_changes = sa.Table(
    "executed_changes",
    metadata,
    sa.Column("placement_plan_id", sa.BigInteger, sa.ForeignKey("placement_plans.placement_plan_id"), primary_key=True),
    sa.Column("action", sa.Text, primary_key=True),
    text("phase"),
    sa.Column("planned", sa.Double, nullable=False),
    sa.Column("executed", sa.Double, nullable=False),
    at("recorded_at"),
    one_of("phase", "upsize", "downsize"),
    sa.CheckConstraint("planned > 0", name="planned"),
    sa.CheckConstraint("executed >= 0 AND executed < 'infinity'", name="executed"),
)
