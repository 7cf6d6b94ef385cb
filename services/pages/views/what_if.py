"""Ask what would happen: places are lost, demand and weights change, racks come. And what others asked.

An estimate answers while a person fills in the form. A simulation, which solves, answers on a page of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField, names_text
from services.pages.parts.heatmap import PLACES_MAX
from services.pages.parts.table import Column, Table
from services.pages.parts.words import moment_markup, spaced
from services.pages.views import what_if_form as asking
from services.pages.views import what_if_losses as losing
from services.pages.visit import Shown, Visit, go_to, link_markup, segment, to_region

SECTION = "what-if"
ASKED_MAX = 25
"""Simulations that the page shows."""
_NAMES_MAX = 1000
_SHOWN_MAX = 12
"""Reservations that the estimate shows."""
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
    """Show the form, answer it by an estimate, or ask the question and lead to its answer."""
    region = visit.place("region")
    if "action" in visit.query:
        return go_to(address_of(region, visit.query))
    form = {name: value for name, value in (visit.form or visit.query).items() if name not in _OWN}
    answer = _answer(visit, region, form)
    if isinstance(answer, Response):
        return answer
    said, may = asking.sentences(answer.question), visit.may(Role.OPERATOR)
    values = {
        "answer": answer,
        "words_of": asking.words_of,
        "shown_max": _SHOWN_MAX,
        "follows": may and bool(said) and not visit.form,
    }
    if visit.is_fragment:
        return Shown(
            template="what_if_answer.html",
            island="what_if_answer.html",
            title="",
            command=(),
            sources=[],
            values=values,
        )
    path = f"/v1/regions/{segment(region)}"
    present = visit.api.get(path)
    items = visit.api.items("/v1/simulations", region=region, most=ASKED_MAX)
    return Shown(
        template="what_if.html",
        title="What if?",
        region=region,
        section=SECTION,
        command=asking.command_of(region, answer.question),
        sources=[
            path,
            f"{path}/server-counts",
            f"{path}/type-counts",
            f"{path}/power",
            f"{path}/uplinks?limits=false",
            f"/v1/simulations?{urlencode({'region': region, 'limit': ASKED_MAX})}",
        ],
        table=_asked(visit, region, items),
        status=422 if visit.form and (answer.wrong or answer.refused) else 200,
        values={
            **values,
            "form": defaultdict(str, form),
            "sentences": said,
            "weights": [{**one, "now": present["policy"][one["name"]]} for one in asking.weights()],
            "weighs": any(name.startswith(asking.POLICY) for name in form),
            "demand_rows": asking.rows_of(form, "demand"),
            **{f"{table.name}_rows": asking.rows_of(form, table.name) for table in asking.TABLES},
            "why_not": "" if may else "Operators run it. You have another role.",
            **_places(visit, path, form),
            **_names(visit, region),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The answer to a form.

    question   the body for the API; {}: the form cannot be read
    wrong      field of the form -> what is wrong with it
    refused    the API's refusal of the whole; ""
    estimate   the answer to a dry run; None: there is none
    busy       whether the API has no room for an estimate now
    """

    question: Json = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    estimate: Json | None = None
    busy: bool = False

    @property
    def weights_alone(self) -> bool:
        """Whether only weights would change."""
        return self.question.keys() == {"region", "policy"}

    @property
    def racks(self) -> list[Json]:
        """The racks of the estimate whose limit changes, or that are above it at once."""
        uplinks = (self.estimate or {}).get("uplinks") or {"racks": ()}
        return [
            one
            for one in uplinks["racks"]
            if one["limit_gbit"] != one["limit_gbit_now"] or (one["free_gbit_at_once"] or 0) < 0
        ]


def _answer(visit: Visit, region: str, form: Mapping[str, str]) -> _Answer | Response:
    """Read the form. If it was sent, ask for an estimate, or run it and lead to its answer."""
    try:
        asked = asking.read_question(region, form)
    except WrongField as wrong:
        return _Answer(wrong={wrong.field: wrong.message})
    question = asked.body
    estimates = visit.is_fragment or visit.form.get("action") == "estimate"
    if not visit.form or (visit.is_fragment and question.keys() == {"region"}):
        return _Answer(question=question)
    try:
        found = visit.api.send("POST", "/v1/simulations", question, dry_run=estimates)
    except ApiProblem as problem:
        if problem.status not in _REFUSED:
            raise
        fields = {asked.field_of(name): said for name, said in problem.fields.items()}
        refused = "" if fields else problem.detail
        return _Answer(question=question, wrong=fields, refused=refused, busy=problem.status == 429)
    if estimates:
        return _Answer(question=question, estimate=found)
    return go_to(to_region(region, SECTION, str(found["simulation_id"])))


def _places(visit: Visit, path: str, form: Mapping[str, str]) -> Json:
    """Return the places and types to choose from. Of too many MSBs, only the datacenters have boxes."""
    places, power = visit.api.get(f"{path}/server-counts")["items"], visit.api.get(f"{path}/power")["domains"]
    uplinks = visit.api.get(f"{path}/uplinks", limits="false")
    inside: dict[str, set[str]] = {}
    for one in places:
        inside.setdefault(one["datacenter"], set()).add(one["msb"])
    msbs = sorted({one["msb"] for one in places})
    many = len(msbs) > PLACES_MAX
    kinds = sorted({*visit.api.get(f"{path}/type-counts")["domain_kinds"], *losing.further_kinds(form)})

    def lost(field: str, kind: str) -> str:
        """Return the names of a field: those that it has, and those with a tick, whose boxes the form lacks."""
        return ", ".join(filter(None, [form.get(field, ""), names_text(losing.ticked(form, kind))]))

    return {
        "datacenters": [(name, [] if many else sorted(inside[name])) for name in sorted(inside)],
        "msbs": msbs,
        "many": many,
        "lost_msbs": lost("lose_msbs", "msb") if many else "",
        "further_kinds": [(kind, lost(f"{losing.LOSE}{kind}", kind)) for kind in kinds],
        "types": sorted({one["hardware_type"] for one in places}),
        "fed_kinds": sorted({one["kind"] for one in power}),
        "fed_domains": [one["domain"] for one in power],
        "limited_racks": [one["rack"] for one in uplinks["fullest"]],
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
