"""Ask what would happen: places are lost, demand and weights change, racks come. And what others asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField
from services.pages.parts.heatmap import PLACES_MAX
from services.pages.parts.table import Column, Table
from services.pages.parts.words import moment_markup, spaced
from services.pages.views import what_if_form as asking
from services.pages.visit import Shown, Visit, go_to, link_markup, segment, to_region

SECTION = "what-if"
ASKED_MAX = 25
"""Simulations that the page shows."""
_NAMES_MAX = 1000
_KINDS = {"queued": "", "running": "info", "done": "good", "failed": "bad", "cancelled": "warn"}
_REFUSED = (400, 403, 404, 409, 422, 429)
_OWN = ("q", "sort", "format", "table")
"""Parameters of the address that belong to the table."""


def status_badge(one: Json) -> Markup:
    """Return the badge of a simulation's status."""
    words = "Applied" if one["applied_at"] else spaced(one["status"])
    return Markup('<span class="badge {}">{}</span>').format(_KINDS[one["status"]], words)


def address_of(region: str, form: Mapping[str, str]) -> str:
    """Return the address of the page with a filled form."""
    kept = {name: value for name, value in form.items() if value.strip() and name != "action" and name not in _OWN}
    path = to_region(region, SECTION)
    return f"{path}?{urlencode(kept)}" if kept else path


def show_what_if(visit: Visit) -> Shown | Response:
    """Show the form, or ask the question and lead to its answer."""
    region = visit.place("region")
    if "action" in visit.query:
        return go_to(address_of(region, visit.query))
    path = f"/v1/regions/{segment(region)}"
    present = visit.api.get(path)
    form = {name: value for name, value in (visit.form or visit.query).items() if name not in _OWN}
    question: Json = {}
    wrong: dict[str, str] = {}
    refused = ""
    try:
        asked = asking.read_question(region, form)
        question = asked.body
        if visit.form:
            made = visit.api.send("POST", "/v1/simulations", question)
            return go_to(to_region(region, SECTION, str(made["simulation_id"])))
    except WrongField as field:
        wrong = {field.field: field.message}
    except ApiProblem as problem:
        if problem.status not in _REFUSED:
            raise
        wrong = {asked.field_of(name): said for name, said in problem.fields.items()}
        refused = "" if wrong else problem.detail
    items = visit.api.items("/v1/simulations", region=region, most=ASKED_MAX)
    return Shown(
        template="what_if.html",
        title="What if?",
        region=region,
        section=SECTION,
        command=asking.command_of(region, question),
        sources=[path, f"{path}/server-counts", f"/v1/simulations?{urlencode({'region': region, 'limit': ASKED_MAX})}"],
        table=_asked(visit, region, items),
        status=422 if visit.form and (wrong or refused) else 200,
        values={
            "form": defaultdict(str, form),
            "wrong": wrong,
            "words_of": asking.words_of,
            "refused": refused,
            "sentences": asking.sentences(question),
            "weights": [{**one, "now": present["policy"][one["name"]]} for one in asking.weights()],
            "weighs": any(name.startswith(asking.POLICY) for name in form),
            "demand_rows": asking.rows_of(form, "demand"),
            "rack_rows": asking.rows_of(form, "racks"),
            "why_not": "" if visit.may(Role.OPERATOR) else "Operators run it. Your token is of another role.",
            **_places(visit, path, form),
            **_names(visit, region),
        },
    )


def _places(visit: Visit, path: str, form: Mapping[str, str]) -> Json:
    """Return the places and types to choose from. Of too many MSBs, only the datacenters have boxes."""
    places = visit.api.get(f"{path}/server-counts")["items"]
    inside: dict[str, set[str]] = {}
    for one in places:
        inside.setdefault(one["datacenter"], set()).add(one["msb"])
    msbs = sorted({one["msb"] for one in places})
    many = len(msbs) > PLACES_MAX
    ticked = [key.removeprefix(f"{asking.LOSE}msb:") for key in form if key.startswith(f"{asking.LOSE}msb:")]
    return {
        "datacenters": [(name, [] if many else sorted(inside[name])) for name in sorted(inside)],
        "msbs": msbs,
        "many": many,
        "lost_msbs": ", ".join(filter(None, [form.get("lose_msbs", ""), *(ticked if many else ())])),
        "types": sorted({one["hardware_type"] for one in places}),
    }


def _names(visit: Visit, region: str) -> Json:
    """Return the reservations and owners to choose from."""
    found = visit.api.items("/v1/reservation-names", region=region, kind="guaranteed", most=_NAMES_MAX)
    return {
        "reservations": [(one["name"], one["capacity_rru"]) for one in found],
        "owners": sorted({one["owner"] for one in found}),
    }


def _asked(visit: Visit, region: str, rows: list[Json]) -> Table:
    def cost(moment: str, term: str) -> Any:
        return lambda one: one["report"]["cost"][moment][term] if one["report"] else None

    def link(one: Json) -> Markup:
        return link_markup(to_region(region, SECTION, str(one["simulation_id"])), asking.headline(one["what_if"]))

    def asked_at(one: Json) -> Markup:
        return moment_markup(one["created_at"], visit.now)

    return Table(
        name="what-ifs",
        caption=f"What was asked of {region}",
        columns=[
            Column("question", "Question", lambda one: asking.headline(one["what_if"]), link),
            Column("status", "Status", lambda one: one["status"], status_badge),
            Column("once", "Short at once", cost("at_once", "reservations_short"), number=True, hint="Reservations"),
            Column("after", "Short after", cost("after", "reservations_short"), number=True, hint="Reservations"),
            Column("rru", "RRU short after", cost("after", "shortfall_rru"), number=True),
            Column("moves", "Moves", lambda one: one["report"]["moves"] if one["report"] else None, number=True),
            Column("by", "Asked by", lambda one: one["requested_by"]),
            Column("at", "Asked", lambda one: one["created_at"], asked_at),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No question was asked of this region yet. Fill in the form above.",
        searched=False,
        cut=f"These are the latest {ASKED_MAX}." if len(rows) == ASKED_MAX else "",
    )
