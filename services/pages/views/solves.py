"""The solve runs of a region, latest first, and the button that starts one."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import moment_markup, moment_text, parse_moment, percent, spaced
from services.pages.visit import Shown, Visit, go_to, link_markup, segment, to_region

RUNS_MAX = 100
"""Runs that the page shows: four days of hourly solves."""
_KINDS = {"running": "info", "committed": "good", "unchanged": "", "stale": "warn", "failed": "bad"}


def status_badge(run: Json) -> Markup:
    """Return the badge of a run's status."""
    return Markup('<span class="badge {}">{}</span>').format(_KINDS[run["status"]], spaced(run["status"]))


def name_of(run: Json, visit: Visit) -> str:
    """Return how people name a run: by its time."""
    return moment_text(parse_moment(run["started_at"]), visit.now)


def show_solves(visit: Visit) -> Shown | Response:
    """Show the runs of a region, or ask for a new one."""
    region = visit.place("region")
    trouble = ""
    if visit.form:
        try:
            visit.api.send("POST", "/v1/solve-runs", {"region": region})
        except ApiProblem as problem:
            if problem.status == 401:
                raise
            trouble = problem.detail
        else:
            return go_to(f"{to_region(region, 'solves')}?asked=1")
    status = visit.query.get("status")
    visit.api.get(f"/v1/regions/{segment(region)}")  # a missing region is an error, not an empty list
    part = visit.api.part("/v1/solve-runs", region=region, most=RUNS_MAX, cursor=visit.query.get("after"))
    runs = part.items
    return Shown(
        template="solves.html",
        title="Solves",
        region=region,
        section="solves",
        command=("get", "solve-runs", "--where", f"region={region}"),
        sources=[f"/v1/solve-runs?region={segment(region)}"],
        table=_runs(visit, region, [one for one in runs if status in (None, one["status"])], part.next_cursor),
        live=not visit.form,
        status=409 if trouble else 200,
        values={
            "trouble": trouble,
            "asked": "asked" in visit.query and not any(one["status"] == "running" for one in runs),
            "why_not": "" if visit.may(Role.OPERATOR) else "Operators start solves. You have another role.",
        },
    )


def figure(run: Json, *names: str) -> Any:
    """Return a figure of a run's report; None if the run has none."""
    value: Any = run["report"]
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _runs(visit: Visit, region: str, rows: list[Json], next_cursor: str | None) -> Table:
    def reported(key: str, title: str, *names: str, hint: str = "") -> Column:
        return Column(key, title, lambda run: figure(run, *names), number=True, hint=hint)

    return Table(
        name="solves",
        caption=f"Solves of {region}",
        columns=[
            Column(
                "started",
                "Began",
                lambda run: run["started_at"],
                lambda run: link_markup(_path(region, run), name_of(run, visit)),
            ),
            Column("status", "Status", lambda run: run["status"], status_badge),
            Column("trigger", "Trigger", lambda run: spaced(run["trigger"])),
            reported("seconds", "Seconds", "solve_s", hint="Of the solver, without loading and committing"),
            reported("total", "Cost", "total", hint="All terms, penalties too"),
            Column(
                "gap",
                "Gap",
                lambda run: figure(run, "gap"),
                lambda run: percent(figure(run, "gap")) if figure(run, "gap") is not None else None,
                number=True,
                hint="At most this much above the best possible",
            ),
            reported("changes", "Changes", "changes", hint="Servers that get another target"),
            reported("in_use", "In use", "terms", "moved_in_use", hint="Servers in use that leave their reservation"),
            reported("idle", "Idle", "terms", "moved_idle", hint="Idle servers that leave their reservation"),
            reported("short", "Short RRU", "terms", "shortfall_rru", hint="What reservations lack afterwards"),
            Column("dropped", "Dropped", _dropped, number=True, hint="Changes that were not committed"),
            Column("ended", "Ended", lambda run: run["finished_at"], lambda run: _ended(run, visit)),
        ],
        rows=rows,
        path=visit.path,
        query={name: value for name, value in visit.query.items() if name != "asked"},
        choices=[Choice("status", "Status", [(one, spaced(one)) for one in _KINDS])],
        empty="No solve has run yet. The scheduler starts one every hour; the button above starts one now.",
        next_cursor=next_cursor,
    )


def _dropped(run: Json) -> int | None:
    dropped = figure(run, "dropped")
    return None if dropped is None else sum(one["changes"] for one in dropped)


def _ended(run: Json, visit: Visit) -> Markup:
    return moment_markup(run["finished_at"], visit.now)


def _path(region: str, run: Json) -> str:
    return to_region(region, "solves", str(run["solve_run_id"]))
