"""Measurements: waiting spans, their daily sums, and hourly usage and traffic."""

from __future__ import annotations

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.store.tables.columns import at, generation, json, key, metadata, one_of, text


def _day() -> sa.Column[date]:
    return sa.Column("day", sa.Date, primary_key=True)


def _of(column: str, name: str | None = None) -> sa.Column[int]:
    """Return a foreign key to `column` that is part of the primary key. The new column is called `name`, or like
    `column` if `name` is None.
    """
    return sa.Column(name or column.split(".")[1], sa.BigInteger, sa.ForeignKey(column), primary_key=True)


def _sum(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False)


def _by_group(name: str) -> sa.Column[list[float]]:
    """Return a column with one sum per group of traces."""
    return sa.Column(name, ARRAY(sa.Double), nullable=False)


def _named_by() -> sa.Column[str]:
    """Return the column with the name of the token that first sent this service or series. NULL means that no token
    sent the row, or that the token is not known.
    """
    return text("named_by", nullable=True)


def _named_at() -> sa.Column[datetime]:
    return sa.Column("named_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


traced_services = sa.Table(
    "traced_services",
    metadata,
    key("traced_service_id"),
    text("name"),
    at("named_at"),
    _named_by(),
    sa.UniqueConstraint("name"),
)
traced_products = sa.Table(
    "traced_products",
    metadata,
    key("traced_product_id"),
    text("name"),
    at("named_at"),
    sa.UniqueConstraint("name"),
)

# Acknowledged spans. A row holds the spans of one export that are not summed yet.
span_batches = sa.Table(
    "span_batches",
    metadata,
    key("span_batch_id"),
    at("arrived_at"),
    sa.Column("spans", sa.Integer, nullable=False),
    sa.Column("rejected", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.CheckConstraint("spans >= 0 AND rejected >= 0", name="spans"),
)

# Traces that were summed lately. A later span of one of them is too late.
closed_traces = sa.Table(
    "closed_traces",
    metadata,
    key("closed_traces_id"),
    at("closed_at"),
    sa.Column("traces", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

demand_sums = sa.Table(
    "demand_sums",
    metadata,
    _day(),
    _of("traced_services.traced_service_id"),
    _of("traced_products.traced_product_id"),
    _by_group("cpu"),
    _by_group("calls"),
    _by_group("self_time"),
)
entry_sums = sa.Table("entry_sums", metadata, _day(), _of("traced_products.traced_product_id"), _by_group("requests"))
span_sums = sa.Table(
    "span_sums",
    metadata,
    _day(),
    _of("traced_services.traced_service_id"),
    _sum("spans"),
    _sum("attributed"),
    _sum("orphaned"),
    _sum("cpu_stated"),
)
call_sums = sa.Table(
    "call_sums",
    metadata,
    _day(),
    _of("traced_services.traced_service_id", "caller_id"),
    _of("traced_services.traced_service_id", "callee_id"),
    _sum("calls"),
)
trace_days = sa.Table(
    "trace_days", metadata, _day(), _sum("received"), _sum("rejected"), _sum("late"), _sum("duplicates")
)

usage_series = sa.Table(
    "usage_series",
    metadata,
    key("usage_series_id"),
    text("service"),
    text("region"),
    text("hardware_type"),
    _named_at(),
    _named_by(),
    sa.UniqueConstraint("service", "region", "hardware_type"),
)
traffic_series = sa.Table(
    "traffic_series",
    metadata,
    key("traffic_series_id"),
    text("product"),
    text("region"),
    _named_at(),
    _named_by(),
    sa.UniqueConstraint("product", "region"),
)


def _hours(name: str, series: str) -> sa.Table:
    """Return a table with a row per hour and series. `samples` holds 60 values, one per minute, as 32-bit floats. A
    minute that was not reported is nan.
    """
    return sa.Table(
        name,
        metadata,
        sa.Column("hour", sa.Integer, primary_key=True),  # since 1970-01-01T00:00Z
        _of(f"{series}.{series}_id"),
        sa.Column("samples", sa.LargeBinary, nullable=False),
        sa.CheckConstraint("length(samples) = 240", name="samples"),
    )


usage_hours = _hours("usage_hours", "usage_series")
traffic_hours = _hours("traffic_hours", "traffic_series")

metric_sources = sa.Table(
    "metric_sources",
    metadata,
    key("metric_source_id"),
    text("name"),
    text("fills"),
    text("query"),
    json("labels"),
    json("constants"),
    sa.Column("step_minutes", sa.Integer, nullable=False),
    sa.Column("scale", sa.Double, nullable=False),
    generation(),
    sa.UniqueConstraint("name"),
    one_of("fills", "usage", "traffic"),
    sa.CheckConstraint("step_minutes BETWEEN 1 AND 60", name="step_minutes"),
    sa.CheckConstraint("scale > 0 AND scale < 'infinity'", name="scale"),
)

# Progress of pulls. A table of its own, so that pulls and operators do not contend for one row.
metric_pulls = sa.Table(
    "metric_pulls",
    metadata,
    sa.Column(
        "metric_source_id",
        sa.BigInteger,
        sa.ForeignKey("metric_sources.metric_source_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    at("pulled_until"),
    at("attempted_at"),
    sa.Column("samples", sa.BigInteger, nullable=False),
    sa.Column("series_left_out", sa.BigInteger, nullable=False),
    text("error", nullable=True),
)
