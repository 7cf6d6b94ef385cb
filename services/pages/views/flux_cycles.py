"""Flux, the loop over its cycles: sizing errors, coverage and automation of the executions of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.pictures import Series, legend
from services.pages.parts.scatter import cycles_svg
from services.pages.parts.table import Column, Table
from services.pages.parts.words import duration, moment_text, parse_moment, percent, spaced
from services.pages.views.flux_plan import PAGES
from services.pages.visit import Shown, Visit

LAST = (13, 26, 52)
_SERVICES_MAX = 200


def show_cycles(visit: Visit) -> Shown:
    """Show the latest executions, and the sizing error of one service or of the largest ones together."""
    last = next((one for one in LAST if str(one) == visit.query.get("last")), 26)
    service = visit.query.get("service")
    query = {"last": last, "services_max": _SERVICES_MAX} | ({"service": service} if service else {})
    found = visit.api.get("/v1/execution-figures", **query)
    executions, services = found["executions"], found["services"]
    cycles = [_cycle(visit, one) for one in executions]
    by_service = _by_service(visit, cycles, services)
    main = _executions(visit, executions)
    return Shown(
        template="flux_cycles.html",
        title="Flux: cycles",
        section="flux",
        command=("flux", "figures", "--last", str(last), *(("--service", service) if service else ())),
        sources=[f"/v1/execution-figures?{urlencode(query)}"],
        table=main,
        tables=[by_service],
        live=True,
        values={
            "pages": PAGES,
            "part": "cycles",
            "last": last,
            "all_last": LAST,
            "url": lambda last: main.url(last=str(last)),
            "service": service or "",
            "executions": main,
            "services": by_service,
            "sizing": _sizing(cycles, services),
            "coverage": _coverage(cycles, executions),
            "more": len(services) == _SERVICES_MAX,
        },
    )


def _cycle(visit: Visit, one: Json) -> str:
    return moment_text(parse_moment(one["started_at"]), visit.now).partition(",")[0]


def total(services: Sequence[Json], cycle: int, key: str) -> float | None:
    """Return the sum over services of a figure in a cycle; None if no service was resized in it."""
    known = [one["executions"][cycle][key] for one in services if one["executions"][cycle] is not None]
    return sum(known) if known else None


def _sizing(cycles: list[str], services: list[Json]) -> Json | None:
    if not cycles or not services:
        return None
    lines = [
        Series("above", "l2", [total(services, cycle, "above") for cycle in range(len(cycles))]),
        Series("below", "l5", [total(services, cycle, "below") for cycle in range(len(cycles))], dashed=True),
    ]
    svg = cycles_svg("Sizing error over cycles", cycles, lines)
    return (
        {"svg": svg, "legend": legend([("f2", "above the plan"), ("f5", "below the plan (dashed)")])} if svg else None
    )


def _coverage(cycles: list[str], executions: list[Json]) -> Json | None:
    pairs = (("upsized", "upsize", "l1"), ("downsized", "downsize", "l3"), ("shifted", "shift", "l2"))
    lines = [
        Series(planned, colour, [_share(one, done, planned) for one in executions]) for done, planned, colour in pairs
    ]
    lines.append(Series("automated", "l6", [_automated(one) for one in executions], dashed=True))
    svg = cycles_svg("Executed share of the plan, and actions without a person, %", cycles, lines)
    words = (("f1", "upsizes"), ("f3", "downsizes"), ("f2", "shifts"), ("f6", "without a person (dashed)"))
    return {"svg": svg, "legend": legend(words)} if svg else None


def _share(one: Json, done: str, planned: str) -> float | None:
    figures = one["figures"]
    return 100 * figures[done] / figures[planned] if figures and figures[planned] else None


def _automated(one: Json) -> float | None:
    figures = one["figures"]
    return 100 * figures["automated"] if figures and figures["automated"] is not None else None


def _executions(visit: Visit, rows: list[Json]) -> Table:
    def share(key: str, title: str, done: str, planned: str) -> Column:
        def value(one: Json) -> float | None:
            return _share(one, done, planned)

        def words(one: Json) -> Any:
            found = value(one)
            return None if found is None else percent(found / 100)

        return Column(key, title, value, words, number=True, hint="Executed share of what was planned")

    def badge(one: Json) -> Markup:
        kind = {"done": "good", "running": "info", "aborted": "bad", "reversed": "warn"}.get(one["state"], "")
        return Markup('<span class="badge {}">{}</span>').format(kind, spaced(one["state"]))

    def automated(one: Json) -> Any:
        found = _automated(one)
        return None if found is None else percent(found / 100)

    return Table(
        name="executions",
        caption="Executions of plans",
        columns=[
            Column(
                "began",
                "Began",
                lambda one: one["started_at"],
                lambda one: moment_text(parse_moment(one["started_at"]), visit.now),
            ),
            Column("state", "State", lambda one: one["state"], badge),
            Column(
                "took",
                "Took",
                lambda one: one["completion_h"],
                lambda one: None if one["completion_h"] is None else duration(3600 * one["completion_h"]),
                number=True,
            ),
            share("upsizes", "Upsizes", "upsized", "upsize"),
            share("downsizes", "Downsizes", "downsized", "downsize"),
            share("shifts", "Shifts", "shifted", "shift"),
            Column("automated", "Without a person", _automated, automated, number=True),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No plan was executed yet. `plimsoll execution create` prepares the execution of the target plan.",
        order="-began",
        searched=False,
    )


def _by_service(visit: Visit, cycles: list[str], services: list[Json]) -> Table:
    rows = [
        {"service": one["service"], "cycle": cycles[k], "at": k, **figures}
        for one in services
        for k, figures in enumerate(one["executions"])
        if figures is not None
    ]

    def amount(key: str, title: str, hint: str) -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    def error(row: Json) -> float | None:
        return (row["above"] + row["below"]) / row["planned"] if row["planned"] else None

    return Table(
        name="sizing-errors",
        caption="Sizing error by service and cycle",
        columns=[
            Column("service", "Service", lambda row: row["service"]),
            Column("cycle", "Cycle", lambda row: row["at"], lambda row: row["cycle"]),
            amount("planned", "Planned change", "Upsizes and downsizes over all regions"),
            amount("executed", "Executed", "The part of it that was executed"),
            amount("above", "Above", "Capacity afterwards beyond the plan"),
            amount("below", "Below", "Capacity afterwards short of the plan"),
            Column("error", "Error", error, lambda row: percent(error(row)), number=True, hint="Of the planned change"),
            Column("total", "Sum", lambda row: row["above"] + row["below"], number=True, hint="Above and below"),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No service was resized by a plan yet.",
        order="-total",
        key="services",
    )
