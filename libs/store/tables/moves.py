"""Moves, movers, and the conditions of regions."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, text

moves = sa.Table(
    "moves",
    metadata,
    key("move_id"),
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("server_id", sa.BigInteger, nullable=False),
    sa.Column("from_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("to_reservation_id", sa.BigInteger, nullable=True),
    sa.Column("steps", ARRAY(sa.Text), nullable=False),
    sa.Column("step_index", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("attempt", sa.Integer, nullable=False, server_default=sa.text("1")),
    text("status"),
    text("reason", nullable=True),
    at("step_started_at"),
    generation(),
    at("created_at"),
    at("finished_at", nullable=True),
    at("ask_at", nullable=True),
    at("asked_at", nullable=True),
    text("asked_host_profile", nullable=True),  # of the destination, at asked_at: the step sets up this one
    sa.Column("calls_failed", sa.Integer, nullable=False, server_default=sa.text("0")),
    text("note", nullable=True),
    text("dead_letter", nullable=True),
    sa.Column("is_spare", sa.Boolean, nullable=False, server_default=sa.false()),
    text("urgent_reason", nullable=True),
    # When it took a server in use from its reservation at the cost of the churn budget.
    at("churned_at", nullable=True),
    sa.ForeignKeyConstraint(["region_id", "server_id"], ["servers.region_id", "servers.server_id"]),
    sa.ForeignKeyConstraint(
        ["region_id", "from_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    sa.ForeignKeyConstraint(
        ["region_id", "to_reservation_id"], ["reservations.region_id", "reservations.reservation_id"]
    ),
    one_of("status", "running", "done", "cancelled", "failed"),
    one_of("dead_letter", "open", "retried", "skipped", "mended"),
    sa.Index("ix_moves_dead_letters", "server_id", postgresql_where=sa.text("dead_letter = 'open'")),
    sa.Index("ix_moves_churned", "region_id", "churned_at", postgresql_where=sa.text("churned_at IS NOT NULL")),
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
    text("step"),
    text("outcome"),
    text("message", nullable=True),
    at("started_at"),
    at("finished_at"),
    one_of("outcome", "done", "failed", "cancelled", "skipped", "unknown"),
)

# The bounds and pauses that operators set (NULL: the environment's), and the state of the circuit breaker.
movers = sa.Table(
    "movers",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    at("paused_at", nullable=True),
    text("paused_reason", nullable=True),
    sa.Column("moves_max", sa.Integer, nullable=True),
    sa.Column("msb_share_max", sa.Double, nullable=True),
    sa.Column("msb_moves_max", sa.Integer, nullable=True),
    sa.Column("msb_starts_per_minute", sa.Integer, nullable=True),
    sa.Column("loan_s_max", sa.Double, nullable=True),
    sa.Column("wait_s_max", sa.Double, nullable=True),  # no longer read; the next version drops it
    generation(),
    at("patient_since", nullable=True),
    sa.Column("ticks_failed", sa.Integer, nullable=False, server_default=sa.text("0")),
    at("probe_at", nullable=True),
    sa.CheckConstraint("moves_max > 0", name="moves_max"),
    sa.CheckConstraint("msb_share_max > 0 AND msb_share_max <= 1", name="msb_share_max"),
    sa.CheckConstraint("msb_moves_max > 0", name="msb_moves_max"),
    sa.CheckConstraint("msb_starts_per_minute > 0", name="msb_starts_per_minute"),
    sa.CheckConstraint("wait_s_max >= 0", name="wait_s_max"),
    sa.CheckConstraint("loan_s_max > 0", name="loan_s_max"),
)

# Servers that operators want out of their reservation at once. The mover removes the mark when the server has left.
urgent_departures = sa.Table(
    "urgent_departures",
    metadata,
    sa.Column("server_id", sa.BigInteger, sa.ForeignKey("servers.server_id"), primary_key=True, autoincrement=False),
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), nullable=False),
    text("reason"),
    text("marked_by"),
    at("marked_at"),
    sa.Index("ix_urgent_departures_region_id", "region_id", "server_id"),
)

# Loans that the plan in force expects. Each commit of a plan replaces those of its region.
foretold_loans = sa.Table(
    "foretold_loans",
    metadata,
    sa.Column(
        "reservation_id",
        sa.BigInteger,
        sa.ForeignKey("reservations.reservation_id"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), nullable=False),
    sa.Column("servers", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Index("ix_foretold_loans_region_id", "region_id", "reservation_id"),
)

# Servers that their reservation cannot spare yet. The mover alone writes it, from rows that it read: foreign keys would
# cost more than its tick.
departure_waits = sa.Table(
    "departure_waits",
    metadata,
    sa.Column("server_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("reservation_id", sa.BigInteger, nullable=False),
    at("since"),
    sa.Index("ix_departure_waits_region_id", "region_id", "server_id"),
)

# The level that stops the next of them, and the thing that would let it leave.
reservation_waits = sa.Table(
    "reservation_waits",
    metadata,
    sa.Column("reservation_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("region_id", sa.BigInteger, nullable=False),
    sa.Column("servers", sa.Integer, nullable=False),
    at("since"),
    text("level"),
    sa.Column("keeps_rru", sa.Double, nullable=False),
    sa.Column("lacks_rru", sa.Double, nullable=False),
    text("resource", nullable=True),
    sa.Column("units", sa.Double, nullable=True),
    text("loss", nullable=True),
    text("waits_for"),
    sa.Column("moves", sa.Integer, nullable=False),
    sa.Column("replacements", sa.Integer, nullable=False),
    sa.Column("loans", sa.Integer, nullable=False),
    sa.Column("queued", sa.Integer, nullable=False),
    sa.Column("approval_id", sa.BigInteger, nullable=True),
    text("approval_state", nullable=True),
    sa.ForeignKeyConstraint(
        ["region_id", "reservation_id"],
        ["reservations.region_id", "reservations.reservation_id"],
        name="fk_reservation_waits_region_id_reservations",
    ),
    one_of("level", "survive", "hold"),
    sa.Index("ix_reservation_waits_region_id", "region_id", "reservation_id"),
)

region_conditions = sa.Table(
    "region_conditions",
    metadata,
    sa.Column("region_id", sa.BigInteger, sa.ForeignKey("regions.region_id"), primary_key=True),
    sa.Column("type", sa.Text, primary_key=True),
    text("status"),
    text("reason"),
    text("message"),
    json("numbers"),
    at("changed_at"),
    at("observed_at"),
    one_of("status", "True", "False", "Unknown"),
)
