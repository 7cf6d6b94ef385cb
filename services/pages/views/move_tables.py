"""The tables of the page of moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.table import Column, Table
from services.pages.parts.words import duration, moment_markup, moment_text, number, said, spaced
from services.pages.visit import Visit, link_markup, server_link, to_region

_LEVELS = {"hold": ("bad", "hold"), "survive": ("warn", "survive")}


def of_ways(visit: Visit, region: str, counts: Sequence[Json]) -> Table:
    """Return the running moves by way and step."""
    return Table(
        name="running",
        caption="Running moves by way and step",
        columns=[
            Column("from", "From", lambda one: one["from_reservation"] or "free", _named(region, "from_reservation")),
            Column("to", "To", lambda one: one["to_reservation"] or "free", _named(region, "to_reservation")),
            Column("step", "Step", lambda one: one["step"], lambda one: spaced(one["step"])),
            Column("moves", "Moves", lambda one: one["moves"], number=True),
            Column("waiting", "Wait to leave", lambda one: one["waiting"], number=True),
            Column("failing", "Tried again", lambda one: one["failing"], number=True),
            Column("kind", "Kind", lambda one: _kind(one)),
            Column("since", "Oldest began", lambda one: one["since"], lambda one: _at(visit, one["since"])),
        ],
        rows=counts,
        path=visit.path,
        query=visit.query,
        command=("get", "moves", "--where", f"region={region}", "--where", "status=running"),
        empty="No move runs: every server is where its target is, or waits. `plimsoll get servers` lists the servers.",
    )


def _kind(one: Json) -> str:
    parts = (["lent"] if one["is_spare"] else []) + ([f"{number(one['urgent'])} urgent"] if one["urgent"] else [])
    return ", ".join(parts)


def of_waits(visit: Visit, region: str, waits: Sequence[Json]) -> Table:
    """Return the reservations whose servers wait to leave: for what, at which level, since when."""
    return Table(
        name="waits",
        key="waits",
        caption="What waits for what",
        columns=[
            Column("reservation", "Reservation", lambda one: one["reservation"], _named(region, "reservation")),
            Column("servers", "Servers wait", lambda one: one["servers"], number=True),
            Column("for", "For", lambda one: one["waits_for"], lambda one: _waits_for(region, one)),
            Column("level", "Level", lambda one: one["level"], _level),
            Column("lacks", "Would lack", lambda one: one["lacks_rru"], _lacks, number=True),
            Column("since", "Since", lambda one: one["since"], lambda one: _at(visit, one["since"])),
            Column("message", "In words", lambda one: one["message"], lambda one: said(one["message"])),
        ],
        rows=waits,
        path=visit.path,
        query=visit.query,
        empty="No server waits to leave its reservation.",
        command=("get", "waits", "--where", f"region={region}"),
        order="since",
        searched=False,
    )


def _lacks(one: Json) -> str:
    return f"{number(one['lacks_rru'] * one['units'])} {one['unit']}"


def _waits_for(region: str, one: Json) -> Markup:
    words = spaced(one["waits_for"])
    if one["waits_for"] == "Approval":
        return link_markup(to_region(region, "approvals"), words)
    on_way = one["moves"] + one["loans"] + one["queued"]
    return Markup("{}{}").format(words, f": {number(on_way)} on the way" if on_way else "")


def _level(one: Json) -> Markup:
    kind, words = _LEVELS[one["level"]]
    return Markup('<span class="badge {}">{}</span>').format(kind, words)


def of_moves(visit: Visit, region: str, moves: Sequence[Json], running: int) -> Table:
    """Return the running moves, one by one."""
    return Table(
        name="moves",
        key="moves",
        caption="Running moves",
        columns=[
            Column("server", "Server", lambda one: one["server"], lambda one: server_link(region, one["server"])),
            Column("from", "From", lambda one: one["from_reservation"] or "free", _named(region, "from_reservation")),
            Column("to", "To", lambda one: one["to_reservation"] or "free", _named(region, "to_reservation")),
            Column("step", "Step", lambda one: one["steps"].index(one["step"]), _step),
            Column("began", "Began", lambda one: one["created_at"], lambda one: _at(visit, one["created_at"])),
            Column("waits", "Waits for", lambda one: one["waits"] and spaced(one["waits"]["waits_for"])),
            Column("note", "Note", lambda one: one["note"]),
        ],
        rows=moves,
        path=visit.path,
        query=visit.query,
        empty="No move runs.",
        command=("get", "moves", "--where", f"region={region}", "--where", "status=running"),
        cut=f"These are the first {number(len(moves))} of {number(running)} moves: the table above counts all of them."
        if running > len(moves)
        else "",
    )


def _step(one: Json) -> str:
    again = f", attempt {one['attempt']}" if one["attempt"] > 1 else ""
    return f"{spaced(one['step'])} ({one['steps'].index(one['step']) + 1} of {len(one['steps'])}){again}"


def of_waves(visit: Visit, foretold: Json | None) -> Table:
    """Return the waves that the latest solve foretold."""
    waves = [] if foretold is None else foretold["each"]
    more = 0 if foretold is None else int(foretold["waves"]["waves"]) - len(waves)
    return Table(
        name="waves",
        key="waves",
        caption="Waves",
        columns=[
            Column("wave", "Wave", lambda one: one["wave"]),
            Column("moves", "Moves", lambda one: one["moves"], number=True),
            Column("level", "At the level", levels_of),
            Column("lent", "Lent", lambda one: one["lent"], number=True, hint="Servers lent for the time of it"),
            Column("takes", "Takes", lambda one: one["seconds"], lambda one: duration(one["seconds"]), number=True),
            Column(
                "ends",
                "Expected by",
                lambda one: one["ends"].isoformat(),
                lambda one: "after an approval" if one["waits"] else moment_text(one["ends"], visit.now),
            ),
        ],
        rows=waves,
        path=visit.path,
        query=visit.query,
        searched=False,
        empty="The latest solve foretold no wave: no server had to move.",
        command=() if foretold is None else ("get", "solve-runs", str(foretold["run"]["solve_run_id"])),
        cut=f"{number(more)} later waves are not listed." if more > 0 else "",
    )


def levels_of(one: Json) -> str:
    """Return the levels that the moves of a wave keep, with their numbers."""
    above = one["moves"] - one["at_hold"] - one["below_hold"]
    parts = ((above, "survive"), (one["at_hold"], "hold"), (one["below_hold"], "below hold"))
    return ", ".join(f"{number(found)} {words}" for found, words in parts if found)


def _named(region: str, field: str) -> Callable[[Json], object]:
    def show(one: Json) -> object:
        name = one[field]
        return "free" if name is None else link_markup(to_region(region, "reservations", name), name)

    return show


def _at(visit: Visit, text: str) -> Markup:
    return moment_markup(text, visit.now)
