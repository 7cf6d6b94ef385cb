"""The visual language: one page with all parts, on made-up content."""

from __future__ import annotations

from datetime import timedelta

from services.pages.api import Json
from services.pages.parts.pictures import Part, Series, bar_svg, legend, lines_svg
from services.pages.parts.place_map import COUNTS, region_map, reservation_map
from services.pages.parts.table import Choice, Column, Table
from services.pages.visit import Shown, Visit

_SHIPS: tuple[Json, ...] = (
    {"name": "Cutty Sark", "kind": "clipper", "tonnes": 963.0, "state": "moored"},
    {"name": "Endurance", "kind": "barquentine", "tonnes": 348.0, "state": "lost"},
    {"name": "Preussen", "kind": "windjammer", "tonnes": 5081.0, "state": "lost"},
    {"name": "Sedov", "kind": "windjammer", "tonnes": 3709.0, "state": "sailing"},
)


def show_style(visit: Visit) -> Shown:
    """Show every part. The table takes filters and orders like any other."""
    kind, end = visit.query.get("kind"), visit.now
    table = Table(
        name="ships",
        caption="Ships",
        columns=[
            Column("name", "Ship", lambda ship: ship["name"]),
            Column("kind", "Kind", lambda ship: ship["kind"]),
            Column("tonnes", "Tonnes", lambda ship: ship["tonnes"], number=True, hint="Gross register tonnage"),
            Column("state", "State", lambda ship: ship["state"]),
        ],
        rows=[ship for ship in _SHIPS if kind is None or ship["kind"] == kind],
        path=visit.path,
        query=visit.query,
        choices=[Choice("kind", "Kind", [(one, one) for one in ("clipper", "barquentine", "windjammer")])],
        empty="There is no ship yet. A table without rows says how to get some.",
        order="name",
    )
    bar = [Part("held", "f1", 410), Part("on its way", "f2", 60), Part("short", "f5", 30)]
    times = [end - timedelta(hours=hours) for hours in range(96, -1, -12)]
    lines = [
        Series("asked for", "l6", [300, 300, 300, 400, 400, 400, 400, 400, 400], dashed=True),
        Series("held", "l1", [300, 310, 305, 305, 380, None, None, 412, 412]),
    ]
    return Shown(
        template="style.html",
        title="Visual language",
        command=("get", "ships"),
        sources=["/v1/regions"],
        table=table,
        values={
            "bar": bar_svg("Capacity of one reservation, RRU", bar, whole=470),
            "bar_legend": legend([(part.colour, part.name) for part in bar]),
            "lines": lines_svg("Asked for and held over four days, RRU", times, lines),
            "map": region_map(_places(), "bound", None),
            "margin": reservation_map(_places(), 24, survives=True),
            "errors": {
                "capacity_rru": "must be greater than 0",
                "region": "no region is called wset: did you mean west?",
            },
            "time": visit.now.isoformat(),
            "earlier": (visit.now - timedelta(hours=3, minutes=12)).isoformat(),
        },
    )


def _places() -> list[Json]:
    found = []
    for msb in range(4):
        for kind, servers in (("hw-01", 40), ("hw-02", 12 * msb), ("hw-03", 25)):
            bound = min(servers, 9 * msb + 6)
            counts = dict.fromkeys(COUNTS, 0) | {
                "servers": servers,
                "bound": bound,
                "joined": bound,
                "free": servers - bound,
            }
            counts |= {"arriving": 2 if msb == 1 else 0, "departing": 1 if msb == 3 else 0}
            if servers:
                rru = {"held_rru": bound * 0.2, "target_rru": bound * 0.2}
                found.append({"datacenter": "dc-1", "msb": f"msb-{msb + 1}", "hardware_type": kind, **counts, **rru})
    return found
