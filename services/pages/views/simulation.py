"""The answer to a what-if: who gains and who loses, at once and after a solve; and the way to apply it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.parts.curves import Course, curve_svg, is_logarithmic
from services.pages.parts.pictures import Part, legend, share_svg
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.uplinks import uplink_bar, uplink_legend
from services.pages.parts.words import kilowatts, number, percent
from services.pages.views import what_if_form as asking
from services.pages.views.solve import TERMS, signed
from services.pages.views.what_if import SECTION, address_of, status_badge
from services.pages.visit import Shown, Visit, go_to, link_markup, server_link, to_region

_OPEN = ("queued", "running")
_SAME_RRU = 1e-6
_BAR = 150.0
"""Width of a picture in a row, in pixels."""
EFFECTS = {
    "loses": ("bad", "Loses"),
    "recovers": ("warn", "Hit, then whole"),
    "gains": ("good", "Gains"),
    "resized": ("info", "Another size"),
    "same": ("", "As before"),
}
"""Effect on a reservation -> the kind and words of its badge."""
_PARTS = (("f3", "kept"), ("f2", "lost at once, restored by the solve"), ("f5", "short after the solve"))


def show_simulation(visit: Visit) -> Shown | Response:
    """Show one simulation of a region, stop it, or apply it."""
    region, number_of_it = visit.place("region"), visit.place("simulation")
    path = f"/v1/simulations/{number_of_it}"
    found = _load(visit, region, number_of_it)
    trouble = ""
    if visit.form:
        try:
            _act(visit, path)
        except ApiProblem as problem:
            if problem.status == 401:
                raise
            trouble = " ".join([problem.detail, *problem.fields.values()])
        else:
            return go_to(visit.path)
    what_if, report = found["what_if"], found["report"]
    course = Course("the solve", "l1", found["progress"].get("curve", ()))
    reservations = _reservations(visit, region, report)
    tables = [_terms(visit, report), _types(visit, report), _moves(visit, region, report)]
    tables += [_power(visit, report), _uplinks(visit, report)]
    decisions = asking.form_of(what_if, decisions_only=True)
    return Shown(
        template="simulation.html",
        title=asking.headline(what_if),
        region=region,
        section=SECTION,
        command=asking.command_of(region, what_if),
        sources=[path],
        table=reservations,
        tables=tables,
        live=found["status"] in _OPEN,
        status=409 if trouble else 200,
        values={
            "found": found,
            "report": report,
            "running": found["status"] in _OPEN,
            "badge": status_badge(found),
            "sentences": asking.sentences(what_if),
            "counts": _counts(report),
            "reservations": reservations,
            "legend": legend(_PARTS),
            "terms": tables[0],
            "types": tables[1],
            "moves": tables[2],
            "power": tables[3] if report and report.get("power") else None,
            "uplink_legend": uplink_legend(),
            "uplinks": tables[4] if report and report.get("uplinks") else None,
            "curve": curve_svg("Incumbent and bound", [course]) if found["status"] in _OPEN else None,
            "logarithmic": is_logarithmic([course]),
            "progress": _progress(found),
            "again": address_of(region, asking.form_of(what_if)),
            "decisions": address_of(region, decisions) if decisions and not found["applicable"] else "",
            "list": to_region(region, SECTION),
            "address": str(visit.request.url),
            "held_back": _held_back(report),
            "may_stop": visit.may(Role.OPERATOR),
            "why_not": _why_not(visit, found),
            "reason": visit.form.get("reason", ""),
            "trouble": trouble,
        },
    )


def _load(visit: Visit, region: str, simulation: str) -> Json:
    detail = f"{region} has no what-if of this address. Old ones are deleted: ask again."
    return visit.api.get_one("/v1/simulations", simulation, noun="what-if", detail=detail, region=region)


def _act(visit: Visit, path: str) -> None:
    if visit.form.get("action") == "stop":
        visit.api.send("POST", f"{path}/cancel")
    else:
        reason = visit.form.get("reason", "").strip()
        visit.api.send("POST", f"{path}/apply", query={"reason": reason})


def _why_not(visit: Visit, found: Json) -> str:
    """Return why the answer cannot be applied; "" if the API may let them. The API decides in the end."""
    if found["status"] != "done":
        return "Only an answer that is complete can be applied."
    if not found["applicable"]:
        return (
            "No plan brings about losses, other racks or types, limits, or other traffic. They can be imagined, and "
            "not applied."
        )
    if found["report"]["refused"]:
        return "No state of the region could meet all of it: see above, and ask for less."
    return "" if visit.may(Role.OPERATOR) else "Operators apply it. You have another role."


def _progress(found: Json) -> str:
    if found["status"] == "queued":
        return "It waits for a worker."
    progress = found["progress"]
    gap = f", gap {percent(progress['gap'])}" if progress.get("gap") is not None else ""
    return f"The solver is at: {progress.get('phase', 'loading')}{gap}."


def effect_of(row: Json) -> str:
    """Return what a what-if does to a reservation: a key of EFFECTS."""
    now, once, after = row["short_rru_now"], row["short_rru_at_once"], row["short_rru_after"]
    if after > now + _SAME_RRU:
        return "loses"
    if after < now - _SAME_RRU:
        return "gains"
    if once > now + _SAME_RRU:
        return "recovers"
    return "resized" if abs(row["capacity_rru"] - row["capacity_rru_now"]) > _SAME_RRU else "same"


def _counts(report: Json | None) -> dict[str, int]:
    effects = [effect_of(row) for row in report["reservations"]] if report else []
    return {effect: effects.count(effect) for effect in EFFECTS}


def _held_back(report: Json | None) -> int:
    churn = report["solve"].get("churn") if report else None
    return sum((churn or {}).get("held_back", {}).values())


def _reservations(visit: Visit, region: str, report: Json | None) -> Table:
    order = list(EFFECTS)
    of = report.get("short_of", {}) if report else {}
    rows = [{**row, "effect": effect_of(row)} for row in (report["reservations"] if report else ())]
    rows.sort(key=lambda row: (order.index(row["effect"]), -row["short_rru_after"], row["reservation"]))
    wanted = visit.query.get("effect")

    def amount(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    return Table(
        name="who-gains-and-loses",
        caption="Who gains and who loses",
        columns=[
            Column(
                "reservation",
                "Reservation",
                lambda row: row["reservation"],
                lambda row: link_markup(to_region(region, "reservations", row["reservation"]), row["reservation"]),
            ),
            *([Column("short_of", "Short of", lambda row: of.get(row["reservation"], ""))] if of else []),
            Column("effect", "Effect", lambda row: EFFECTS[row["effect"]][1], _effect_badge),
            amount("capacity_rru_now", "RRU asked for"),
            amount("capacity_rru", "Would be"),
            amount("short_rru_now", "Short now"),
            amount("short_rru_at_once", "At once", "RRU short before any server moves"),
            amount("short_rru_after", "After", "RRU short once the answer is carried out"),
            amount("gained", "Servers gained"),
            amount("lost", "Servers lost"),
            Column("bar", "Its capacity", lambda row: row["short_rru_after"], _bar),
        ],
        rows=[row for row in rows if wanted in (None, row["effect"])],
        path=visit.path,
        query=visit.query,
        choices=[Choice("effect", "Effect", [(effect, words) for effect, (_, words) in EFFECTS.items()])],
        empty="Nobody gains and nobody loses: no reservation is short, and no server would move.",
    )


def _effect_badge(row: Json) -> Markup:
    kind, words = EFFECTS[row["effect"]]
    return Markup('<span class="badge {}">{}</span>').format(kind, words)


def _bar(row: Json) -> Markup:
    """Return the capacity as a bar: kept, restored by the solve, and short. A shortfall counts the embedded buffer, so
    it may be above the capacity.
    """
    once, after = row["short_rru_at_once"], row["short_rru_after"]
    values = (max(0.0, row["capacity_rru"] - max(once, after)), max(0.0, once - after), after)
    parts = [Part(words, colour, value) for (colour, words), value in zip(_PARTS, values, strict=True)]
    return share_svg(parts, width=_BAR)


def _terms(visit: Visit, report: Json | None) -> Table:
    def cost(row: Json, moment: str) -> Any:
        # a simulation of an earlier version has no term of a later one
        return report["cost"][moment].get(row["key"], 0.0) if report else None

    def change(row: Json) -> Any:
        return cost(row, "after") - cost(row, "now")

    figures = [*TERMS, ("total", "All terms", "the sum")]
    rows = [{"key": key, "title": title, "of": of} for key, title, of in figures]
    return Table(
        name="what-if-cost",
        caption="Cost by term",
        columns=[
            Column("term", "Term", lambda row: row["title"]),
            Column("now", "Now", lambda row: cost(row, "now"), number=True),
            Column("once", "At once", lambda row: cost(row, "at_once"), number=True, hint="Before any server moves"),
            Column("after", "After", lambda row: cost(row, "after"), number=True, hint="Once it is carried out"),
            Column("change", "After less now", change, lambda row: signed(change(row)), number=True),
            Column("of", "Counts", lambda row: row["of"]),
        ],
        rows=rows if report else [],
        path=visit.path,
        query=visit.query,
        empty="Costs are known when the solve ends.",
        searched=False,
        key="terms",
    )


def _types(visit: Visit, report: Json | None) -> Table:
    def servers(key: str, title: str) -> Column:
        return Column(key, title, lambda row: row[key], number=True)

    return Table(
        name="what-if-types",
        caption="Servers by hardware type",
        columns=[
            Column("hardware_type", "Hardware type", lambda row: row["hardware_type"]),
            servers("bound_now", "Bound now"),
            servers("bound_after", "Bound after"),
            servers("free_now", "Free now"),
            servers("free_after", "Free after"),
        ],
        rows=report["hardware_types"] if report else [],
        path=visit.path,
        query=visit.query,
        empty="Figures are known when the solve ends.",
        searched=False,
        key="types",
    )


def _power(visit: Visit, report: Json | None) -> Table:
    """Return the power of the domains with a limit. A simulation of an earlier version tells none."""

    def kw(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: kilowatts(row[key]), number=True, hint=hint)

    columns = [
        Column("domain", "Domain", lambda row: row["domain"]),
        Column("kind", "Kind", lambda row: row["kind"]),
        kw("limit_w_now", "Limit now, kW"),
        kw("limit_w", "Would be"),
        Column("headroom", "Headroom", lambda row: row["headroom"], lambda row: percent(row["headroom"])),
        kw("drawn_w_now", "Drawn now", "By targets"),
        kw("drawn_w_after", "Drawn after", "Once the answer is carried out"),
        kw("free_w_now", "Free now", "Below the limit less its headroom"),
        kw("free_w_at_once", "At once", "Before any server moves"),
        kw("free_w_after", "After", "Once the answer is carried out"),
    ]
    rows, limits = (report.get("power", ()), report.get("power_limits", 0)) if report else ((), 0)
    return _limited(visit, "power", "Power of domains with a limit, in kW", columns, rows, limits)


def _uplinks(visit: Visit, report: Json | None) -> Table:
    """Return the uplinks of the racks with a limit. A simulation of an earlier version tells none."""

    def gbit(key: str, title: str, hint: str = "") -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    columns = [
        Column("rack", "Rack", lambda row: row["rack"]),
        gbit("limit_gbit_now", "Limit now"),
        gbit("limit_gbit", "Would be"),
        gbit("sent_gbit_now", "Sent now", "By targets"),
        gbit("sent_gbit_after", "Sent after", "Once the answer is carried out"),
        gbit("free_gbit_now", "Free now", "Below the limit; negative: above"),
        gbit("free_gbit_at_once", "At once", "Before any server moves"),
        gbit("free_gbit_after", "After", "Once the answer is carried out"),
        Column(
            "bar",
            "Its uplink",
            lambda row: row["sent_gbit_after"] / row["limit_gbit"] if row["limit_gbit"] else None,
            lambda row: uplink_bar(row["sent_gbit_after"], row["limit_gbit"]) if row["limit_gbit"] else "",
        ),
    ]
    found = (report.get("uplinks") if report else None) or {"racks": (), "limits": 0}
    return _limited(visit, "uplinks", "Uplinks of racks, in Gbit/s", columns, found["racks"], found["limits"])


def _limited(
    visit: Visit, key: str, caption: str, columns: Sequence[Column], rows: Sequence[Json], limits: int
) -> Table:
    """Return a table of the places with a limit, which are `limits` in all."""
    return Table(
        name=f"what-if-{key}",
        caption=caption,
        columns=columns,
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="None has a limit.",
        cut=f"These are {number(len(rows))} of {number(limits)}." if limits > len(rows) else "",
        searched=False,
        key=key,
    )


def _moves(visit: Visit, region: str, report: Json | None) -> Table:
    def place(key: str, title: str) -> Column:
        def show(row: Json) -> object:
            name = row[key]
            return "free" if name is None else link_markup(to_region(region, "reservations", name), name)

        return Column(key, title, lambda row: row[key] or "free", show)

    rows = report["moves_shown"] if report else []
    more = report is not None and report["moves"] > len(rows)
    return Table(
        name="what-if-moves",
        caption="Servers that would move",
        columns=[
            Column("server", "Server", lambda row: row["server"], lambda row: server_link(region, row["server"])),
            place("from_reservation", "From"),
            place("to_reservation", "To"),
            Column("in_use", "In use", lambda row: "yes" if row["in_use"] else "no"),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No server would move." if report else "Moves are known when the solve ends.",
        cut=f"These are the first {number(len(rows))} of {number(report['moves'])}." if report and more else "",
        key="moves",
    )
