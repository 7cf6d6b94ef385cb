"""What traces showed, as it is listed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDay:
    """Spans of a day, by what became of them.

    received    settled on that day: what follows is part of it, except what was rejected
    attributed  to a product
    orphaned    the way up is broken before it says which product
    late        of a trace that had been summed before
    duplicates  came twice
    rejected    were no spans, or of services that cannot be named
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
    """Whom a service called since a day, and how often, by callee's name."""

    traced_service_id: int
    name: str
    calls: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBy:
    """How many names of services and series a token brought; named_by is None for those of no token."""

    named_by: str | None
    services: int
    usage_series: int
    traffic_series: int
