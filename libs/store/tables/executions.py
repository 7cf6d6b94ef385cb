"""Executions of placement plans, their actions, the commands about them, and the readings of their gates."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

# Every write of an execution or its actions compares and swaps on the generation of its row here.
plan_executions = sa.Table(
    "plan_executions",
    metadata,
    key("plan_execution_id"),
    ref("placement_plans.placement_plan_id"),
    sa.Column(
        "reverses_execution_id", sa.BigInteger, sa.ForeignKey("plan_executions.plan_execution_id"), nullable=True
    ),
    text("state"),
    json("terms"),
    json("pools"),
    text("reason"),
    text("created_by"),
    at("created_at"),
    at("started_at", nullable=True),
    at("finished_at", nullable=True),
    json("figures", nullable=True),
    generation(),
    one_of(
        "state",
        *("draft", "running", "pausing", "paused", "aborting", "reversing", "superseding"),
        *("done", "reversed", "aborted", "superseded"),
    ),
    sa.Index(
        "ix_plan_executions_open",
        "plan_execution_id",
        postgresql_where=sa.text("state NOT IN ('draft', 'done', 'reversed', 'aborted', 'superseded')"),
    ),
    sa.Index(
        "uq_plan_executions_reverses",
        "reverses_execution_id",
        unique=True,
        postgresql_where=sa.text("reverses_execution_id IS NOT NULL"),
    ),
)

# The columns before `state` never change.
execution_actions = sa.Table(
    "execution_actions",
    metadata,
    sa.Column("plan_execution_id", sa.BigInteger, sa.ForeignKey("plan_executions.plan_execution_id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    text("action"),
    text("phase"),
    text("service", nullable=True),
    text("product", nullable=True),
    text("region", nullable=True),
    text("to_region", nullable=True),
    text("hardware_type", nullable=True),
    sa.Column("before", sa.Double, nullable=False),
    sa.Column("after", sa.Double, nullable=False),
    sa.Column("lead_time_h", sa.Double, nullable=False),
    sa.Column("estimate_h", sa.Double, nullable=False),
    sa.Column("start_h", sa.Double, nullable=False),
    sa.Column("approval", ARRAY(sa.Text), nullable=False),
    sa.Column("waits_for", ARRAY(sa.Integer), nullable=False),
    sa.Column("capacity_event_id", sa.BigInteger, sa.ForeignKey("capacity_events.capacity_event_id"), nullable=True),
    text("state"),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("tries", sa.BigInteger, nullable=False),
    sa.Column("reached", sa.Double, nullable=False),
    sa.Column("asked", sa.Double, nullable=False),
    sa.Column("size", sa.Double, nullable=False),
    sa.Column("since_s", sa.Double, nullable=False),
    sa.Column("again_s", sa.Double, nullable=False),
    sa.Column("paused", sa.Boolean, nullable=False),
    sa.Column("person", sa.Boolean, nullable=False),
    sa.Column("overridden", sa.Double, nullable=False),
    text("note", nullable=True),
    sa.UniqueConstraint("plan_execution_id", "action"),
    one_of("phase", "upsize", "shift", "downsize", "settled", "grow"),
    one_of(
        "state",
        *("awaiting_approval", "waiting", "running", "baking", "held", "reversing"),
        *("failed", "reversed", "taken_over", "done", "skipped"),
    ),
    sa.CheckConstraint("reached >= 0 AND reached <= 1 AND asked >= 0 AND asked <= 1", name="fractions"),
)

# One execution at a time on a service or product in a region.
execution_places = sa.Table(
    "execution_places",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("region", sa.Text, primary_key=True),
    ref("plan_executions.plan_execution_id"),
    one_of("kind", "service", "product"),
    sa.Index("ix_execution_places_plan_execution_id", "plan_execution_id"),
)

# Append-only: every command with its outcome.
execution_commands = sa.Table(
    "execution_commands",
    metadata,
    key("execution_command_id"),
    ref("plan_executions.plan_execution_id"),
    text("level"),
    text("verb"),
    text("subject"),
    sa.Column("size", sa.Double, nullable=True),
    text("reason", nullable=True),
    text("reject_kind", nullable=True),
    text("actor"),
    at("given_at"),
    sa.Column("accepted", sa.Boolean, nullable=False),
    text("code", nullable=True),
    text("message", nullable=True),
    sa.Column("changed", sa.Integer, nullable=False),
    one_of("level", "plan", "phase", "action"),
    sa.CheckConstraint("accepted = (code IS NULL)", name="outcome"),
    sa.Index("ix_execution_commands_plan_execution_id", "plan_execution_id", "execution_command_id"),
)

# The calendar. A freeze that was entered stays, and ends early at most.
freezes = sa.Table(
    "freezes",
    metadata,
    key("freeze_id"),
    text("scope"),
    text("name", nullable=True),
    at("starts_at"),
    at("ends_at"),
    text("reason"),
    text("created_by"),
    at("created_at"),
    at("ended_at", nullable=True),
    text("ended_by", nullable=True),
    generation(),
    one_of("scope", "all", "region", "service", "product"),
    sa.CheckConstraint("(scope = 'all') = (name IS NULL)", name="name"),
    sa.CheckConstraint("ends_at > starts_at", name="ends_at"),
    sa.Index("ix_freezes_open", "ends_at", postgresql_where=sa.text("ended_at IS NULL")),
)

# Append-only: actions that may begin in spite of a freeze. Position -1: all actions of the execution.
freeze_overrides = sa.Table(
    "freeze_overrides",
    metadata,
    sa.Column("plan_execution_id", sa.BigInteger, primary_key=True),
    sa.Column("freeze_id", sa.BigInteger, sa.ForeignKey("freezes.freeze_id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    text("reason"),
    text("actor"),
    at("given_at"),
)

# Append-only.
gate_readings = sa.Table(
    "gate_readings",
    metadata,
    key("gate_reading_id"),
    sa.Column("plan_execution_id", sa.BigInteger, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    text("gate"),
    at("at"),
    sa.Column("value", sa.Double, nullable=True),
    text("query"),
    text("bound"),
    text("note", nullable=True),
    sa.ForeignKeyConstraint(
        ["plan_execution_id", "position"], ["execution_actions.plan_execution_id", "execution_actions.position"]
    ),
    sa.Index("ix_gate_readings_action", "plan_execution_id", "position", "gate_reading_id"),
    sa.Index("ix_gate_readings_recent", "plan_execution_id", "at"),
)
