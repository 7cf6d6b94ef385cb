"""The past of a region: asked for, granted and held, and moves and preemptions a day. The region's page fetches it when
it is shown, because it reads the history of every reservation.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.asked_lines import asked_lines
from services.pages.parts.columns import Day, columns_svg
from services.pages.parts.pictures import Series, legend, lines_svg
from services.pages.parts.table import Column, Table
from services.pages.parts.words import parse_moment
from services.pages.visit import Visit

RANGES = {"30": "30 days", "7": "7 days", "1": "24 hours", "90": "90 days"}
"""Values of the parameter `days`, and their words. The first one counts without it."""
_MOVES, _PREEMPTIONS = "moves", "preemptions"


def days_of(visit: Visit) -> str:
    """Return the range of time that the URL asks for."""
    asked = visit.query.get("days", "")
    return asked if asked in RANGES else next(iter(RANGES))


def past_of(visit: Visit, path: str) -> tuple[dict[str, Any], Table]:
    """Return what the template shows of the past of the region at `path`, and the table of its days."""
    found = visit.api.get(f"{path}/history", days=days_of(visit))
    days = [Day(_words(one["day"]), one["moves"], one["preemptions"]) for one in found["days"]]
    table = _table(visit, found["days"])
    periods = found["periods"]
    rows = [*periods, *periods[-1:]]
    lines, words = asked_lines(rows)
    return {
        "held": _held(found, rows, lines) if rows else None,
        "held_legend": legend([*words, ("f1", "held of it, at the worst moment of each step")]),
        "worst": _worst(found),
        "moves": columns_svg("Moves and preemptions a day", days, (_MOVES, _PREEMPTIONS)),
        "moves_legend": legend([("f1", "moves that began"), ("f5", "of them, preemptions of servers in use")]),
        "days_table": table,
    }, table


def _held(found: Json, rows: list[Json], lines: list[Series]) -> Markup:
    times = [*(parse_moment(one["begins_at"]) for one in rows[:-1]), parse_moment(found["ends_at"])]
    kept = [None if one["missing_rru"] is None else one["capacity_rru"] - one["missing_rru"] for one in rows]
    return lines_svg("Asked for and held, RRU", times, [*lines, Series("held of it", "l1", kept)])


def _worst(found: Json) -> Json | None:
    """Return the period in which most was missing; None if nothing ever was."""
    worst: Json | None = max(found["periods"], key=lambda one: one["missing_rru"] or 0.0, default=None)
    return worst if worst is not None and worst["missing_rru"] else None


def _words(day: str) -> str:
    at = date.fromisoformat(day)
    return f"{at:%b} {at.day}"


def _table(visit: Visit, days: list[Json]) -> Table:
    return Table(
        name="moves-a-day",
        key="days",
        caption="Moves and preemptions a day",
        columns=[
            Column("day", "Day (UTC)", lambda one: one["day"], lambda one: _words(one["day"])),
            Column(_MOVES, "Moves", lambda one: one["moves"], number=True, hint="Moves that began"),
            Column(_PREEMPTIONS, "Preemptions", lambda one: one["preemptions"], number=True),
        ],
        rows=days,
        path=visit.path,
        query={**visit.query, "past": "1"},
        empty="There is no day to show.",
        order="-day",
        searched=False,
        command=("history", "--region", visit.place("region"), "--days", days_of(visit)),
    )
