"""Maps of a region's servers, and of a reservation's, from the counts that the API returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import urlencode

from services.pages.api import Json
from services.pages.parts.heatmap import Cell, HeatMap, Row, by_place, shade_of
from services.pages.parts.words import aligned, number

COUNTS = ("servers", "bound", "joined", "arriving", "departing", "to_move", "free", "in_use", "down", "maintenance")
MODES = {
    "bound": "bound",
    "free": "free",
    "to_move": "to move",
    "in_use": "in use",
    "down": "down",
    "maintenance": "in maintenance",
    "servers": "all servers",
}
"""Choices of a map of a region: the value of the parameter `show`, and its words."""
_WORDS = {"bound": "bound", "free": "free", "to_move": "to move", "in_use": "in use", "down": "down"}


def sums(items: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """Return the sums of counts."""
    total = {name: float(sum(int(str(one[name])) for one in items)) for name in COUNTS}
    for name in ("held_rru", "target_rru"):
        total[name] = sum(float(str(one[name] or 0)) for one in items)
    return total


def region_map(items: Sequence[Json], mode: str, servers_url: Callable[[str, str], str] | None) -> HeatMap:
    """Return the map of a region: how many servers of each place and type are what `mode` says.

    servers_url   (place, hardware type) -> the page with these servers; None: there is none
    """
    places, collapsed, msbs = by_place(items, sums)
    kinds = sorted({kind for found in places.values() for kind in found})
    rows = []
    for (group, place), found in places.items():
        cells = []
        for kind in kinds:
            counts = found.get(kind)
            if counts is None:
                cells.append(Cell(tip=f"{place} has no {kind}"))
                continue
            value = counts[mode]
            href = servers_url(place, kind) if servers_url is not None and not collapsed else ""
            cells.append(
                Cell(
                    text=number(value),
                    shade=shade_of(value, counts["servers"]),
                    tip=_counts_tip(place, kind, counts),
                    href=href,
                )
            )
        whole = sums_of(found.values())
        ends = (Cell(text=number(whole[mode])), Cell(text=number(whole["servers"])))
        rows.append(Row(name=place, group=group, cells=cells, ends=ends))
    by_kind = [sums_of([found[kind] for found in places.values() if kind in found]) for kind in kinds]
    everything = sums_of(by_kind)
    totals = [Cell(text=number(one[mode])) for one in (*by_kind, everything)]
    totals.append(Cell(text=number(everything["servers"])))
    return HeatMap(
        caption=f"Servers by MSB and hardware type: {MODES[mode]}",
        columns=kinds,
        ends=(MODES[mode] if mode != "servers" else "sum", "of all"),
        rows=rows,
        totals=totals,
        collapsed=collapsed,
        places=msbs,
    )


def sums_of(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of figures that have the same names."""
    parts = list(found)
    names = [*COUNTS, "held_rru", "target_rru"]
    return {name: sum(part[name] for part in parts) for name in names}


def reservation_map(
    items: Sequence[Json],
    capacity_rru: float,
    *,
    survives: bool,
    servers_url: Callable[[str, str], str] | None = None,
    why_url: Callable[[str], str] | None = None,
) -> HeatMap:
    """Return the map of a reservation: servers that it has by place and type, and what remains without each place.

    servers_url   (place, hardware type) -> the page with these servers; None: there is none
    why_url       hardware type -> the page that explains its use; None: there is none

    The last columns are the margin of RAS (figures 13 and 14): RRU held in the place, and RRU held without it.
    """
    places, collapsed, msbs = by_place(items, sums)
    kinds = sorted({kind for found in places.values() for kind in found})
    whole = {place: sums_of(found.values()) for place, found in places.items()}
    held_rru = sum(one["held_rru"] for one in whole.values())
    most = max((counts["joined"] for found in places.values() for counts in found.values()), default=0.0)
    here = {place: one["held_rru"] for place, one in whole.items()}
    largest_rru = max(here.values(), default=0.0)
    *said_here, said_held = aligned([*here.values(), held_rru])
    said_without = aligned([held_rru - one for one in here.values()])
    rows = []
    marked = False
    for ((group, place), found), here_text, without_text in zip(places.items(), said_here, said_without, strict=True):
        cells = []
        for kind in kinds:
            counts = found.get(kind)
            if counts is None:
                cells.append(Cell())
                continue
            cells.append(
                Cell(
                    text=number(counts["joined"]),
                    shade=shade_of(counts["joined"], most),
                    tip=_reservation_tip(place, kind, counts),
                    mark=_mark(counts),
                    href=servers_url(place, kind) if servers_url is not None and not collapsed else "",
                )
            )
        here_rru = here[group, place]
        worst = survives and not marked and here_rru == largest_rru and here_rru > 0
        marked = marked or worst
        tip = f"Without {place} {number(held_rru - here_rru)} of {number(capacity_rru)} RRU remain"
        ends = (Cell(text=here_text), Cell(text=without_text, tip=tip))
        rows.append(Row(name=place, group=group, cells=cells, ends=ends, worst=worst))
    by_kind = [sums_of([found[kind] for found in places.values() if kind in found]) for kind in kinds]
    totals = [Cell(text=number(one["joined"])) for one in by_kind]
    totals += [Cell(text=said_held), Cell()]
    return HeatMap(
        caption="Servers of the reservation by MSB and hardware type",
        columns=kinds,
        ends=("RRU here", "RRU without it"),
        rows=rows,
        totals=totals,
        collapsed=collapsed,
        places=msbs,
        links={} if why_url is None else {kind: why_url(kind) for kind in kinds},
    )


def servers_query(**query: str) -> str:
    """Return the query of a page of servers."""
    return urlencode({name: value for name, value in query.items() if value})


def _counts_tip(place: str, kind: str, counts: Mapping[str, float]) -> str:
    parts = [f"{number(counts[name])} {words}" for name, words in _WORDS.items() if counts[name]]
    if counts["maintenance"]:
        parts.append(f"{number(counts['maintenance'])} in maintenance")
    return f"{place}, {kind}: {number(counts['servers'])} servers" + (f"; {', '.join(parts)}" if parts else "")


def _reservation_tip(place: str, kind: str, counts: Mapping[str, float]) -> str:
    said = f"{place}, {kind}: {number(counts['joined'])} joined, {number(counts['bound'])} by target"
    return said + "".join(
        f"; {number(counts[name])} {words}"
        for name, words in (("down", "down"), ("maintenance", "in maintenance"), ("in_use", "in use"))
        if counts[name]
    )


def _mark(counts: Mapping[str, float]) -> str:
    """Return the servers on their way: +2 arrive, and another sign with those that leave."""
    arriving = f"+{number(counts['arriving'])}" if counts["arriving"] else ""
    departing = number(-counts["departing"]) if counts["departing"] else ""
    return " ".join(filter(None, (arriving, departing)))
