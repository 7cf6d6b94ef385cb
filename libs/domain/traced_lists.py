"""Lists of traced services and days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDay:
    """Spans of one day, by their fate.

    received    spans settled on that day; all others but rejected are parts of it
    attributed  attributed to a product
    orphaned    product or weight in doubt because an ancestor is missing
    late        their trace had been summed before
    duplicates  came twice
    rejected    not valid spans, or of services that cannot be named
    """

    day: date
    received: int
    attributed: int
    orphaned: int
    late: int
    duplicates: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedService:
    """Spans of a service since a day."""

    traced_service_id: int
    name: str
    spans: int
    attributed: int
    orphaned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCaller:
    """Calls of a service since a day. calls: callee -> number."""

    traced_service_id: int
    name: str
    calls: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBy:
    """Numbers of services and series that a token named. named_by is None for those that no token named."""

    named_by: str | None
    services: int
    usage_series: int
    traffic_series: int
