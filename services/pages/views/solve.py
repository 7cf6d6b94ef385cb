"""One solve: its curve, its costs before and after, its moves, and what was dropped. Or two solves side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.parts.curves import Course, curve_svg, is_logarithmic
from services.pages.parts.pictures import legend
from services.pages.parts.table import Column, Table
from services.pages.parts.words import duration, number, percent
from services.pages.views.solves import RUNS_MAX, figure, name_of, status_badge
from services.pages.visit import Shown, Visit, go_to, link_markup, server_link, to_region

TERMS = (
    ("short", "Missing capacity", "a penalty for RRU that reservations lack"),
    ("affinity", "Affinity", "a penalty for RRU outside the datacenters' shares"),
    ("stability", "Moves", "servers that leave their reservation"),
    ("msb_spread", "Spread over MSBs", "RRU above the limit of an MSB"),
    ("rack_spread", "Spread over racks", "RRU above the limit of a rack"),
    ("buffer", "Embedded buffers", "RRU in the largest MSB of each reservation"),
    ("surplus", "Surplus", "servers above the fewest that could give the capacity"),
    ("power", "Balance of power", "kW that MSBs draw above the levels of an even region"),
    ("locality", "Further domains", "domains beyond those that reservations prefer"),
    ("uplinks", "Uplinks", "Gbit/s that racks send above their limits"),
)
"""The terms of the objective: name in the report, title, and what counts."""
_FIGURES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Cost", ("total",), "number"),
    ("Cost before", ("stay", "total"), "number"),
    ("Lower bound", ("lower_bound",), "number"),
    ("Gap", ("gap",), "percent"),
    ("Seconds", ("solve_s",), "number"),
    ("Changes of targets", ("changes",), "number"),
    ("Moves of servers in use", ("terms", "moved_in_use"), "number"),
    ("Moves of idle servers", ("terms", "moved_idle"), "number"),
    ("Servers acquired", ("terms", "acquired"), "number"),
    ("Servers left alone", ("left_alone",), "number"),
    ("Reservations short", ("terms", "reservations_short"), "number"),
    ("RRU short", ("terms", "shortfall_rru"), "number"),
    ("Waves", ("waves", "waves"), "number"),
    ("Columns of the model", ("size", "columns"), "number"),
    ("Rows of the model", ("size", "rows"), "number"),
    ("Memory, MiB", ("peak_mib",), "number"),
)
_STEPS = ("domains", "build", "search", "extraction", "evaluation")
"""The phases of a run in their order."""


def show_solve(visit: Visit) -> Shown | Response:
    """Show one run of a region, or stop it."""
    region, run_id = visit.place("region"), visit.place("run")
    path = f"/v1/solve-runs/{run_id}"
    trouble = ""
    if visit.form:
        try:
            visit.api.send("POST", f"{path}/cancel")
        except ApiProblem as problem:
            if problem.status == 401:
                raise
            trouble = problem.detail
        else:
            return go_to(visit.path)
    run = _load(visit, region, run_id)
    other_id = visit.query.get("with", "")
    other = _load(visit, region, other_id) if other_id.isdecimal() and other_id != run_id else None
    name = name_of(run, visit)
    others = [one for one in visit.api.items("/v1/solve-runs", region=region, most=RUNS_MAX) if one != run]
    runs = [run, other] if other else [run]
    courses = [
        Course(name_of(one, visit), colour, one["progress"].get("curve", ()))
        for one, colour in zip(runs, ("l1", "l2"), strict=False)
    ]
    terms = _terms(visit, run)
    changes = None if other else _changes(visit, region, run)
    compared = _compared(visit, run, other) if other else None
    return Shown(
        template="solve.html",
        title=f"Solve of {name}" if other is None else "Two solves",
        region=region,
        section="solves",
        command=("get", "solve-runs", str(run_id)),
        sources=[f"/v1/solve-runs/{one['solve_run_id']}" for one in runs],
        table=compared or changes,
        tables=[] if other else [terms],
        live=run["status"] == "running",
        status=409 if trouble else 200,
        values={
            "run": run,
            "other": other,
            "badge_of": status_badge,
            "name_of": lambda one: name_of(one, visit),
            "path_of": lambda one: to_region(region, "solves", str(one["solve_run_id"])),
            "others": others,
            "curve": curve_svg("Incumbent and bound", courses),
            "logarithmic": is_logarithmic(courses),
            "legend": _legend(courses),
            "terms": terms,
            "compared": compared,
            "changes": changes,
            "figure": figure,
            "took": _took(run),
            "trouble": trouble,
            "why_not": "" if visit.may(Role.OPERATOR) else "Operators stop solves. You have another role.",
        },
    )


def _load(visit: Visit, region: str, run_id: str) -> Json:
    detail = f"{region} has no solve of this address."
    return visit.api.get_one("/v1/solve-runs", run_id, noun="solve", detail=detail, region=region)


def _took(run: Json) -> str:
    if run["report"] is None:
        return f"{duration(run['progress'].get('elapsed_s', 0.0))} so far" if run["status"] == "running" else ""
    steps = run["report"]["step_s"]
    order = [*(name for name in _STEPS if name in steps), *sorted(set(steps) - set(_STEPS))]
    return ", ".join(f"{name} {number(round(steps[name], 2))} s" for name in order)


def _legend(courses: Sequence[Course]) -> Markup:
    entries = []
    for one in courses:
        of = f" of {one.name}" if len(courses) > 1 else ""
        entries += [(one.colour.replace("l", "f"), f"incumbent{of}; dashed: its bound")]
    return legend(entries)


def _terms(visit: Visit, run: Json) -> Table:
    def before(term: Json) -> Any:
        return figure(run, "stay", "terms", term["key"]) if term["key"] else figure(run, "stay", "total")

    def after(term: Json) -> Any:
        return figure(run, "terms", term["key"]) if term["key"] else figure(run, "total")

    def change(term: Json) -> Any:
        values = before(term), after(term)
        return None if None in values else values[1] - values[0]

    rows = [{"key": key, "title": title, "of": of} for key, title, of in TERMS]
    return Table(
        name="cost-terms",
        caption="Cost by term, before and after",
        columns=[
            Column("term", "Term", lambda term: term["title"]),
            Column("before", "Before", before, number=True, hint="With the targets as they were"),
            Column("after", "After", after, number=True, hint="With the committed targets"),
            Column("change", "Change", change, lambda term: signed(change(term)), number=True),
            Column("of", "Counts", lambda term: term["of"]),
        ],
        rows=[*rows, {"key": "", "title": "All terms", "of": "the sum"}] if run["report"] else [],
        path=visit.path,
        query=visit.query,
        empty="A run has costs once it has ended. A failed one has none.",
        searched=False,
        key="terms",
    )


def signed(value: float | None) -> str | None:
    """Return a change with its sign. One that is shown as 0 has none."""
    if value is None:
        return None
    said = number(value)
    return f"+{said}" if value > 0 and said != number(0) else said


def _compared(visit: Visit, run: Json, other: Json) -> Table:
    rows = [
        *({"title": title, "names": names, "kind": kind} for title, names, kind in _FIGURES),
        *(
            {"title": f"Cost: {_in_sentence(title)}", "names": ("terms", key), "kind": "number"}
            for key, title, _ in TERMS
        ),
    ]

    def of(one: Json, row: Json) -> Any:
        return figure(one, *row["names"])

    def said(value: Any, row: Json) -> Any:
        return None if value is None else percent(value) if row["kind"] == "percent" else number(value)

    def change(row: Json) -> Any:
        values = of(run, row), of(other, row)
        return None if None in values else values[1] - values[0]

    return Table(
        name="two-solves",
        caption="Figures of two solves",
        columns=[
            Column("figure", "Figure", lambda row: row["title"]),
            Column("first", name_of(run, visit), lambda row: of(run, row), lambda row: said(of(run, row), row), True),
            Column(
                "second", name_of(other, visit), lambda row: of(other, row), lambda row: said(of(other, row), row), True
            ),
            Column(
                "change", "Change", change, lambda row: signed(change(row)) if row["kind"] == "number" else None, True
            ),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="",
        searched=False,
    )


def _changes(visit: Visit, region: str, run: Json) -> Table:
    rows = [] if run["plan_id"] is None else visit.api.items(f"/v1/plans/{run['plan_id']}/changes", most=1000)

    def reservation(key: str, title: str) -> Column:
        def show(row: Json) -> object:
            name = row[f"{key}_reservation"]
            return "free" if name is None else link_markup(to_region(region, "reservations", name), name)

        return Column(key, title, lambda row: row[f"{key}_reservation"] or "free", show)

    return Table(
        name="changes",
        caption="Changes of targets",
        columns=[
            Column("server", "Server", lambda row: row["server"], lambda row: server_link(region, row["server"])),
            reservation("from", "From"),
            reservation("to", "To"),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="This run changed no target.",
        cut="These are the first 1,000 changes: the JSON has all of them." if len(rows) == 1000 else "",
    )


def _in_sentence(title: str) -> str:
    return title[:1].lower() + title[1:]
