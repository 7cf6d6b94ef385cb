"""Lists of traced services and days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDay:
    """Spans of one day, counted by what happened to them.

    received    spans settled on that day; attributed, orphaned, late and duplicates are parts of this number
    attributed  spans attributed to a product
    orphaned    spans whose product or weight is in doubt because an ancestor is missing
    late        spans whose trace had been summed before
    duplicates  spans that came twice
    rejected    entries that are not valid spans, or spans of services that cannot be named
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
    """Numbers of a service's spans since a day."""

    traced_service_id: int
    name: str
    spans: int
    attributed: int
    orphaned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCaller:
    """Calls that a service made since a day. `calls` maps the called service to the number of calls."""

    traced_service_id: int
    name: str
    calls: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBy:
    """Numbers of services and series whose name the token `named_by` sent first. `named_by` is None for names that no
    token sent.
    """

    named_by: str | None
    services: int
    usage_series: int
    traffic_series: int
