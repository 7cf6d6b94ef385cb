"""Solve runs, plans, simulations, and roll-outs of policies."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, ref, text

# A plan of long ago may be deleted, so neither its id in a run nor a parent is a foreign key.
solve_runs = sa.Table(
    "solve_runs",
    metadata,
    key("solve_run_id"),
    ref("regions.region_id"),
    text("trigger"),
    text("status"),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("parent_plan_id", sa.BigInteger, nullable=True),
    sa.Column("plan_id", sa.BigInteger, nullable=True),
    json("progress"),
    json("report", nullable=True),
    text("error", nullable=True),
    text("bundle", nullable=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    at("started_at"),
    at("finished_at", nullable=True),
    one_of("status", "running", "committed", "unchanged", "stale", "failed"),
    sa.Index("ix_solve_runs_region_id", "region_id", "solve_run_id"),
)

plans = sa.Table(
    "plans",
    metadata,
    key("plan_id"),
    ref("regions.region_id"),
    sa.Column("parent_plan_id", sa.BigInteger, nullable=True),
    text("kind"),
    ref("solve_runs.solve_run_id", nullable=True),
    ref("capacity_requests.capacity_request_id", nullable=True),
    sa.Column("changes", sa.BigInteger, nullable=False),
    sa.Column("left_alone", sa.BigInteger, nullable=False),
    at("created_at"),
    sa.UniqueConstraint("plan_id", "region_id"),
    one_of("kind", "import", "solve", "grant", "release", "replacement"),
    sa.Index("ix_plans_region_id", "region_id", "plan_id"),
    sa.Index("ix_plans_solve_run_id", "solve_run_id", postgresql_where=sa.text("solve_run_id IS NOT NULL")),
    sa.Index(
        "ix_plans_capacity_request_id",
        "capacity_request_id",
        postgresql_where=sa.text("capacity_request_id IS NOT NULL"),
    ),
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
    key("simulation_id"),
    ref("regions.region_id"),
    text("requested_by"),
    json("what_if"),
    text("status"),
    json("progress"),
    json("report", nullable=True),
    text("error", nullable=True),
    text("bundle", nullable=True),
    json("rests_on", nullable=True),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    at("created_at"),
    at("started_at", nullable=True),
    at("finished_at", nullable=True),
    sa.Column("applied_plan_id", sa.BigInteger, nullable=True),
    text("applied_by", nullable=True),
    at("applied_at", nullable=True),
    sa.ForeignKeyConstraint(["applied_plan_id", "region_id"], ["plans.plan_id", "plans.region_id"]),
    one_of("status", "queued", "running", "done", "failed", "cancelled"),
    sa.Index("ix_simulations_region_id", "region_id", "simulation_id"),
)

# The servers that a simulation's answer binds elsewhere, to apply it.
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
    # Not called generation: it is the server's at the time of reading, and no trigger raises it.
    sa.Column("server_generation", sa.BigInteger, nullable=False),
    text("to_reservation", nullable=True),
)

policy_rollouts = sa.Table(
    "policy_rollouts",
    metadata,
    key("policy_rollout_id"),
    ref("regions.region_id"),
    text("stage"),
    sa.Column("share", sa.Double, nullable=True),
    json("change"),
    json("before"),
    json("held"),
    text("started_by"),
    text("reason"),
    at("created_at"),
    at("stage_at"),
    at("canary_at", nullable=True),
    generation(),
    one_of("stage", "shadow", "canary", "all", "back", "superseded"),
    sa.CheckConstraint("share > 0 AND share < 1", name="share"),
    sa.CheckConstraint("stage <> 'canary' OR num_nonnulls(share, canary_at) = 2", name="canary"),
    sa.Index(
        "uq_policy_rollouts_open", "region_id", unique=True, postgresql_where=sa.text("stage IN ('shadow', 'canary')")
    ),
    sa.Index("ix_policy_rollouts_region_id", "region_id", "policy_rollout_id"),
)

# A solve run of long ago may be deleted, so its id is not a foreign key.
policy_comparisons = sa.Table(
    "policy_comparisons",
    metadata,
    key("policy_comparison_id"),
    ref("policy_rollouts.policy_rollout_id"),
    sa.Column("solve_run_id", sa.BigInteger, nullable=False),
    text("stage"),
    text("status"),
    json("report", nullable=True),
    json("findings"),
    text("error", nullable=True),
    at("started_at"),
    at("finished_at", nullable=True),
    sa.UniqueConstraint("policy_rollout_id", "solve_run_id"),
    one_of("stage", "shadow", "canary"),
    one_of("status", "running", "done", "yielded", "failed"),
)
