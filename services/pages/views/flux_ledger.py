"""Flux, the ledger: capacity events on a time line, and as a table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.event_line import LANES_MAX, MARKS_MAX, Event, event_line
from services.pages.parts.pictures import legend
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import duration, moment_markup, number, parse_moment, percent, spaced
from services.pages.views.flux_plan import PAGES
from services.pages.visit import Shown, Visit

DAYS = (7, 30, 90)
"""Choices of the time range: so many days back, and as many ahead."""
_MOST = 1000
STATUSES = {
    "proposed": ("", "f6"),
    "approved": ("info", "f4"),
    "active": ("info", "f1"),
    "succeeded": ("good", "f3"),
    "failed": ("bad", "f5"),
    "superseded": ("", "f0"),
    "cancelled": ("", "f0"),
}
"""Status -> the kind of its badge, and the class of its mark."""
_WRITERS = ("person", "budget", "flux")
_OPTIONS = ("status", "service", "region")
"""Filters that the command line has too."""


def show_ledger(visit: Visit) -> Shown:
    """Show the events that are due in the time range of the URL."""
    days = next((one for one in DAYS if str(one) == visit.query.get("days")), 30)
    start, end = visit.now - timedelta(days=days), visit.now + timedelta(days=days)
    # Whole hours, so that the live part changes with events and not with each second.
    start, end = (at.replace(minute=0, second=0, microsecond=0) for at in (start, end))
    filters = ("status", "writer", "region", "service")
    query: dict[str, Any] = {name: visit.query[name] for name in filters if name in visit.query}
    window = {"due_after": start.isoformat(), "due_before": end.isoformat()}
    events = visit.api.items("/v1/capacity-events", most=_MOST, **query, **window)
    given = (part for name in _OPTIONS if name in query for part in (f"--{name}", str(query[name])))
    table = _table(visit, events)
    shown = table.found
    lanes = {_lane(one) for one in shown}
    return Shown(
        template="flux_ledger.html",
        title="Flux: ledger",
        section="flux",
        command=("ledger", "list", "--all", *given),
        sources=[f"/v1/capacity-events?{urlencode({**query, **window})}"],
        table=table,
        live=True,
        values={
            "pages": PAGES,
            "part": "ledger",
            "days": days,
            "all_days": DAYS,
            "url": lambda days: table.url(days=str(days)),
            "line": event_line("Capacity events by region", [*map(_mark, shown)], start=start, end=end, now=visit.now),
            "binned": len(shown) > MARKS_MAX,
            "hidden": max(0, len(lanes) - LANES_MAX),
            "legend": legend([(colour, spaced(name)) for name, (_, colour) in STATUSES.items()]),
        },
    )


def _lead(one: Json) -> str | None:
    return duration(3600 * one["lead_time_h"]) if one["lead_time_h"] else None


def _lane(one: Json) -> str:
    effect = one["effect"]
    return str(effect["region"] or effect["to_region"])


def _what(one: Json) -> str:
    """Return the change that an event makes, in words."""
    effect = one["effect"]
    if effect["kind"] == "traffic":
        return f"{percent(effect['share'])} of {effect['product']}: {effect['from_region']} to {effect['to_region']}"
    sign = "+" if effect["delta"] > 0 else ""
    return f"{effect['service']} {sign}{number(effect['delta'])} {effect['hardware_type']} in {effect['region']}"


def _mark(one: Json) -> Event:
    due = parse_moment(one["starts_at"])
    tip = f"{_what(one)}; {one['status']}, due {due:%b} {due.day} {due:%H:%M} UTC"
    return Event(_lane(one), due - timedelta(hours=one["lead_time_h"]), due, STATUSES[one["status"]][1], tip)


def _table(visit: Visit, rows: list[Json]) -> Table:
    def achieved(one: Json) -> str:
        return percent(one["achieved"]) if one["effect"]["kind"] == "traffic" else number(one["achieved"])

    def badge(one: Json) -> Markup:
        return Markup('<span class="badge {}">{}</span>').format(STATUSES[one["status"]][0], spaced(one["status"]))

    return Table(
        name="ledger",
        caption="Capacity events",
        columns=[
            Column("what", "Change", _what),
            Column("status", "Status", lambda one: one["status"], badge),
            Column("due", "Due", lambda one: one["starts_at"], lambda one: moment_markup(one["starts_at"], visit.now)),
            Column(
                "lead",
                "Lead time",
                lambda one: one["lead_time_h"],
                _lead,
                True,
            ),
            Column("achieved", "Achieved", lambda one: one["achieved"], achieved, number=True),
            Column("writer", "Writer", lambda one: one["writer"]),
            Column("author", "By", lambda one: one["author"]),
            Column("reason", "Reason", lambda one: one["reason"]),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        choices=[
            Choice("status", "Status", [(one, spaced(one)) for one in STATUSES]),
            Choice("writer", "Writer", [(one, one) for one in _WRITERS]),
        ],
        empty="No event is due in this time. `plimsoll ledger propose` and executions of plans bring one.",
        order="due",
        cut=f"These are the first {_MOST:,} events: take a shorter time, or filter." if len(rows) == _MOST else "",
    )
