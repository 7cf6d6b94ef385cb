"""Moves of a region as waves: what runs, what waits for what, and when the plan is expected to be carried out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.parts.lanes import Bar, Lane, lanes_svg
from services.pages.parts.pictures import legend
from services.pages.parts.words import age, count, duration, moment_text, parse_moment
from services.pages.views import move_tables as tables
from services.pages.visit import Shown, Visit, go_to, link_markup, segment, to_region

MOVES_MAX = 250
"""Moves that the page reads. The counts are of all."""
_RUNS_MAX = 5
_LETTERS_MAX = 20
_DEEDS = ("pause", "resume", "retry", "skip")


def show_moves(visit: Visit) -> Shown | Response:
    """Show the moves of a region; or pause or resume its mover, or decide on a move that failed."""
    region = visit.place("region")
    trouble = ""
    if visit.form:
        trouble = _act(visit, region)
        if not trouble:
            return go_to(visit.path)
    path = f"/v1/regions/{segment(region)}"
    counts = visit.api.get(f"{path}/move-counts")["items"]
    mover = visit.api.get(f"/v1/movers/{segment(region)}")
    types = visit.api.get(f"{path}/type-counts")["items"]
    waits = visit.api.items("/v1/waits", region=region)
    loans = visit.api.items("/v1/loans", region=region)
    letters = visit.api.items("/v1/moves", region=region, dead_letter="open", most=_LETTERS_MAX)
    moves = visit.api.items("/v1/moves", region=region, status="running", most=MOVES_MAX)
    running = sum(one["moves"] for one in counts)
    foretold = _foretold(visit, region)
    main = tables.of_ways(visit, region, counts)
    further = [
        tables.of_waits(visit, region, waits),
        tables.of_moves(visit, region, moves, running),
        tables.of_waves(visit, foretold),
    ]
    return Shown(
        template="moves.html",
        title="Moves",
        region=region,
        section="moves",
        command=("get", "waits", "--where", f"region={region}"),
        sources=[
            f"{path}/move-counts",
            f"/v1/waits?region={segment(region)}",
            f"/v1/moves?region={segment(region)}&status=running",
            f"/v1/movers/{segment(region)}",
        ],
        table=main,
        tables=further,
        live=not visit.form,
        status=409 if trouble else 200,
        values={
            "trouble": trouble,
            "reason": visit.form.get("reason", "") if trouble else "",
            "mover": mover,
            "why_not": "" if visit.may(Role.OPERATOR) else "Operators do this. You have another role.",
            "letters": letters,
            "running": running,
            "failing": sum(one["failing"] for one in counts),
            "oldest": min((one["since"] for one in counts), default=None),
            "waiting": sum(one["servers"] for one in waits),
            "longest": _longest(visit, waits),
            "to_move": sum(one["to_move"] for one in types),
            "lent": len(loans),
            "foretold": foretold,
            "ready": _ready(visit, foretold),
            "age_of": lambda text: age(parse_moment(text), visit.now),
            "picture": _picture(visit, foretold),
            "legend": legend([("f3", "expected by now"), ("expected", "expected later")]),
            "solve": None if foretold is None else _solve_link(visit, region, foretold),
            "ways": main,
            "waits": further[0],
            "moves": further[1],
            "waves": further[2],
        },
    )


def _act(visit: Visit, region: str) -> str:
    """Do what the form says. Return why it was refused; "" if it was done."""
    form = visit.form
    deed, move, reason = form.get("deed", ""), form.get("move", ""), form.get("reason", "").strip()
    if deed not in _DEEDS or (move and not move.isdecimal()):
        return "The form cannot be read. Open the page again, and repeat it there."
    path = f"/v1/moves/{move}/{deed}" if move else f"/v1/movers/{segment(region)}/{deed}"
    try:
        visit.api.send("POST", path, {"reason": reason})
    except ApiProblem as problem:
        if problem.status == 401:
            raise
        return " ".join([problem.detail, *problem.fields.values()])
    return ""


def _longest(visit: Visit, waits: list[Json]) -> str:
    """Return for how long the longest wait goes on; "" without any."""
    since = min((parse_moment(one["since"]) for one in waits), default=None)
    return "" if since is None else duration((visit.now - since).total_seconds())


def _foretold(visit: Visit, region: str) -> Json | None:
    """Return the latest solve that foretold waves, and each wave with its expected times; None if there is none."""
    for run in visit.api.items("/v1/solve-runs", region=region, most=_RUNS_MAX):
        waves = (run["report"] or {}).get("waves")
        if waves is None or run["finished_at"] is None:
            continue
        at = parse_moment(run["finished_at"])
        each = []
        for place, one in enumerate(waves["each"]):
            ends = at + timedelta(seconds=one["seconds"])
            each.append({**one, "wave": place + 1, "begins": at, "ends": ends, "waits": _needs(waves, place)})
            at = ends
        return {"run": run, "waves": waves, "each": each}
    return None


def _needs(waves: Json, place: int) -> bool:
    """Return whether a wave begins only after an approval."""
    return place >= int(waves["waves_before_approval"])


def _ready(visit: Visit, foretold: Json | None) -> Json | None:
    """Return when the last wave was expected to end, as a figure and a note; None without waves."""
    if foretold is None or not foretold["waves"]["waves"]:
        return None
    if foretold["waves"]["needs_approval"]:
        waits = count(foretold["waves"]["needs_approval"], "move waits", "moves wait")
        return {"figure": "open", "note": f"{waits} for an approval"}
    ends = parse_moment(foretold["run"]["finished_at"]) + timedelta(seconds=foretold["waves"]["seconds"])
    figure = age(ends, visit.now) if ends > visit.now else "late"
    return {"figure": figure, "note": f"foretold for {moment_text(ends, visit.now)}"}


def _solve_link(visit: Visit, region: str, foretold: Json) -> Markup:
    run = foretold["run"]
    words = moment_text(parse_moment(run["started_at"]), visit.now)
    return link_markup(to_region(region, "solves", str(run["solve_run_id"])), f"the solve of {words}")


def _picture(visit: Visit, foretold: Json | None) -> Markup | None:
    if foretold is None:
        return None
    return lanes_svg("Waves over time", [_lane(visit, one) for one in foretold["each"] if not one["waits"]], visit.now)


def _lane(visit: Visit, one: Json) -> Lane:
    tip = f"{duration(one['seconds'])}, until {moment_text(one['ends'], visit.now)}"
    parts: list[tuple[Any, Any, str]] = []
    if one["begins"] < visit.now:
        parts.append((one["begins"], min(one["ends"], visit.now), "f3"))
    if one["ends"] > visit.now:
        parts.append((max(one["begins"], visit.now), one["ends"], "expected"))
    name = f"Wave {one['wave']}: {count(one['moves'], 'move')}"
    return Lane(name, [Bar(begins, ends, colour, tip) for begins, ends, colour in parts])
