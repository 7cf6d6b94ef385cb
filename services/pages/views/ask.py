"""Ask for a reservation or another size of one, or amend a request. A dry run answers while a person fills it in."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField, read_moment, read_number
from services.pages.parts.words import number, parse_moment, sentence, spaced
from services.pages.views.ask_subject import Subject, send, subject_of
from services.pages.visit import Shown, Visit, go_to, segment, to_region

RRU_PREFIX = "rru:"
"""Prefix of the form's field with the RRU of a hardware type."""
KIND_PREFIX = "survives:"
"""Prefix of the form's field that names a further kind of domain whose loss is survived."""
KEPT_TOGETHER = {"within:": ("domains_max", "--within"), "prefer:": ("domains_preferred", "--prefer-within")}
"""Prefix of a form's field with a number of domains of a kind -> the limit in a request, and the option of the command
line. Only new requests have these fields.
"""
RESOURCE_PREFIX = "resource:"
"""Prefix of the form's field with the amount of a resource."""
_EVERY_KIND = ("datacenter", "msb")
_KINDS = {"granted": "good", "degraded": "warn", "rejected": "bad", "awaiting_approval": "info"}
_CHANGES: Mapping[str, Callable[[str, Any], str]] = {
    "capacity_rru": lambda name, value: f"ask for {number(value)} RRU",
    "survives_msb_loss": lambda name, value: "do without surviving the loss of an MSB",
    "survives_loss_of": lambda name, value: "do without surviving the loss of other domains",
    "msb_share_max": lambda name, value: "do without its hard limit on the share of an MSB",
    "datacenters": lambda name, value: "allow every datacenter",
    "domain_limits": lambda name, value: "do without its limits per kind of domain",
    "resources": lambda name, value: "do without its resources",
}
"""Field of a change that the API offers -> its words."""
_FIELDS = frozenset({"capacity_rru", "survives_msb_loss"})
"""Fields of a change that are fields of the form."""
_NOT_IN_ADDRESSES = frozenset({"key", "generation", "action", "reason"})
_REFUSED = (400, 403, 404, 409, 422, 428, 429)


def show_ask(visit: Visit) -> Shown | Response:
    """Show the form, the answer of a dry run, or send the request and lead to its decision."""
    region = visit.place("region")
    subject = subject_of(visit, region)
    form: Mapping[str, str] = visit.form or _prefilled(visit, subject)
    answer: Json | None = None
    wrong: dict[str, str] = {}
    refused, busy = "", False
    if visit.form:
        dry_run = visit.form.get("action") != "ask" or visit.is_fragment
        try:
            answer = send(visit, region, subject, _body(visit.form), dry_run=dry_run)
        except WrongField as field:
            wrong = {field.field: field.message}
        except ApiProblem as problem:
            if problem.status not in _REFUSED:
                raise
            wrong = {_field_of(name): said for name, said in problem.fields.items()}
            refused, busy = "" if wrong else problem.detail, problem.status == 429
        else:
            if not dry_run:
                query = urlencode({"reservation": answer["reservation"]})
                return go_to(f"{to_region(region, 'requests')}?{query}")
    counts_path = f"/v1/regions/{segment(region)}/type-counts"
    counts = visit.api.get(counts_path)
    classes = visit.api.items(f"/v1/regions/{segment(region)}/rru-classes")
    name = subject.name if subject else form.get("name") or "NAME"
    return Shown(
        template="ask.html",
        island="ask_answer.html",
        title=f"{sentence(subject.verb)} {name}" if subject else "Ask for capacity",
        region=region,
        section="ask",
        command=_command(region, subject, form),
        sources=[counts_path],
        status=422 if visit.form and (wrong or refused) and not visit.is_fragment else 200,
        values={
            "form": defaultdict(str, form),
            "types": counts["items"],
            "kinds": counts["domain_kinds"],
            "limited_kinds": () if subject else (*_EVERY_KIND, *counts["domain_kinds"]),
            "resources": sorted({*counts["resources"], *_named(form, RESOURCE_PREFIX)}),
            "classes": classes,
            "subject": subject,
            "keeps_start": subject is not None and subject.reservation is not None,
            "answer": answer,
            "ways": [] if answer is None else _ways(visit, answer, form),
            "others": {} if answer is None else _others(answer),
            "what_if": _what_if(region, form, subject, answer),
            "asks_at_once": not visit.form and bool(form.get("capacity_rru")),
            "kind": _KINDS.get(answer["status"]["phase"], "") if answer else "",
            "wrong": wrong,
            "refused": refused,
            "busy": busy,
            "owners": visit.who["owners"],
            "may": visit.may(Role.REQUESTER),
            "key": form.get("key") or str(uuid.uuid4()),
        },
    )


def _prefilled(visit: Visit, subject: Subject | None) -> dict[str, str]:
    """Return the form of a GET: the present spec, or what the URL gives."""
    form = dict(visit.query)
    form.setdefault("survives_msb_loss", "on")
    form.setdefault("priority", "2")
    if subject is not None:
        spec = subject.spec
        form |= {
            "name": subject.name,
            "owner": subject.owner,
            "generation": str(subject.generation),
            "capacity_rru": f"{spec['capacity_rru']:g}",
            "priority": str(spec["priority"]),
            "survives_msb_loss": "on" if spec["survives_msb_loss"] else "",
            "workload_class": spec["workload_class"] or "",
            "starts_at": _for_input(spec["starts_at"]),
            "ends_at": _for_input(spec["ends_at"]),
            "gbit_per_rru": f"{spec['gbit_per_rru']:.15g}" if spec["gbit_per_rru"] else "",
            **{f"{KIND_PREFIX}{kind}": "on" for kind in spec["survives_loss_of"]},
            **{f"{RESOURCE_PREFIX}{name}": f"{amount:.15g}" for name, amount in spec["resources"].items()},
        }
        if not spec["workload_class"]:
            form |= {f"{RRU_PREFIX}{kind}": f"{rru:g}" for kind, rru in spec["rru"].items()}
        if any(name.startswith(RRU_PREFIX) for name in visit.query):  # they are all, as they were filled in
            form = {name: value for name, value in form.items() if not name.startswith(RRU_PREFIX)}
        form |= visit.query
    return form


def _body(form: Mapping[str, str]) -> Json:
    """Return the form as the body of a request. Raises WrongField."""
    body: Json = {"spec": _spec(form)}
    if form.get("reason", "").strip():
        body["reason"] = form["reason"].strip()
    return body


def _spec(form: Mapping[str, str]) -> Json:
    spec: Json = {
        "capacity_rru": read_number(form, "capacity_rru", needed=True),
        "survives_msb_loss": form.get("survives_msb_loss", "") == "on",
        "survives_loss_of": _kinds(form),
        "priority": int(read_number(form, "priority") or 0),
    }
    if any(key.startswith(RESOURCE_PREFIX) for key in form):
        spec["resources"] = _resources(form)
    if "gbit_per_rru" in form:
        spec["gbit_per_rru"] = read_number(form, "gbit_per_rru") or 0.0
    limits = _domain_limits(form)
    if limits:
        spec["domain_limits"] = limits
    if form.get("workload_class"):
        spec["workload_class"] = form["workload_class"]
    else:
        found = {key.removeprefix(RRU_PREFIX): read_number(form, key) for key in form if key.startswith(RRU_PREFIX)}
        spec["rru"] = {kind: rru for kind, rru in found.items() if rru is not None}
        if not spec["rru"]:
            raise WrongField("rru", "say what a server of at least one hardware type is worth, in RRU")
    for field in ("starts_at", "ends_at"):
        if form.get(field):
            spec[field] = read_moment(form, field)
    if form.get("guest_of"):
        spec |= {"guest_of": form["guest_of"], "guest_share": read_number(form, "guest_share", needed=True)}
    return spec


def _ways(visit: Visit, answer: Json, form: Mapping[str, str]) -> list[Json]:
    """Return the changes that the API offers, with their words, and the address of the form with the change; "" if the
    form has no field for it.
    """
    kept = {name: value for name, value in form.items() if value and name not in _NOT_IN_ADDRESSES}
    kept["survives_msb_loss"] = form.get("survives_msb_loss") or "off"
    kept |= {name: visit.query[name] for name in ("resize", "amend") if name in visit.query}
    found = []
    for one in answer["ways_out"]:
        change = one["change"]
        words = " and ".join(_CHANGES.get(name, _other_change)(name, value) for name, value in change.items())
        query = {**kept, **{name: _in_form(value) for name, value in change.items()}}
        url = f"{visit.path}?{urlencode(query)}" if change.keys() <= _FIELDS else ""
        found.append({**one, "words": sentence(words), "url": url, "kind": _KINDS.get(one["phase"], "")})
    return found


def _other_change(name: str, value: object) -> str:
    return f"do without {spaced(name).lower()}"


def _in_form(value: object) -> str:
    return "off" if value is False else f"{value:g}" if isinstance(value, float) else str(value)


def _others(answer: Json) -> Json:
    """Return the figures of an answer that the page does not name in words."""
    numbers = answer["status"]["numbers"]
    return {
        name: one for name, one in numbers.items() if "cost_units" not in name and isinstance(one, int | float | str)
    }


def _what_if(region: str, form: Mapping[str, str], subject: Subject | None, answer: Json | None) -> str:
    """Return the address of a what-if with the asked size of a reservation; "" if it is met or new."""
    if subject is None or subject.reservation is None or answer is None or answer["status"]["phase"] == "granted":
        return ""
    if subject.spec.get("guest_of"):  # no simulation changes a guest
        return ""
    demand = {"demand:1:name": subject.name, "demand:1:capacity_rru": form["capacity_rru"]}
    return f"{to_region(region, 'what-if')}?{urlencode(demand)}"


def _kinds(form: Mapping[str, str]) -> list[str]:
    """Return the further kinds of domain that are ticked."""
    return _named(form, KIND_PREFIX)


def _field_of(name: str) -> str:
    """Return the form's field for a field of the request."""
    field = name.removeprefix("spec.")
    return field.replace("resources.", RESOURCE_PREFIX, 1) if field.startswith("resources.") else field


def _named(form: Mapping[str, str], prefix: str) -> list[str]:
    """Return the names of the fields with a prefix that are filled in, without the prefix."""
    return [key.removeprefix(prefix) for key in form if key.startswith(prefix) and form[key]]


def _resources(form: Mapping[str, str]) -> dict[str, float]:
    """Return the amount of each resource that the form asks for. Raises WrongField."""
    found = {name: read_number(form, f"{RESOURCE_PREFIX}{name}") for name in _named(form, RESOURCE_PREFIX)}
    return {name: amount for name, amount in found.items() if amount}


def _domain_limits(form: Mapping[str, str]) -> list[Json]:
    """Return the numbers of domains of each kind that the form names. Raises WrongField."""
    found: dict[str, Json] = {}
    for prefix, (limit, _) in KEPT_TOGETHER.items():
        for kind in _named(form, prefix):
            most = read_number(form, f"{prefix}{kind}")
            if most is not None and (most < 1 or most != int(most)):
                raise WrongField("domain_limits", f"the most domains of the kind {kind} are a whole number from 1")
            if most is not None:
                found.setdefault(kind, {"kind": kind})[limit] = int(most)
    return list(found.values())


def _for_input(text: str | None) -> str:
    return "" if text is None else parse_moment(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


def _command(region: str, subject: Subject | None, form: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command line that asks the same."""
    place = ("--region", region)
    capacity = ("--capacity", form.get("capacity_rru") or "RRU", "--dry-run")
    if subject is not None and subject.number is not None:
        return ("amend", str(subject.number), *capacity[:2])
    if subject is not None:
        return ("resize", subject.name, *place, *capacity)
    worth = [f"{key.removeprefix(RRU_PREFIX)}={form[key]}" for key in form if key.startswith(RRU_PREFIX) and form[key]]
    given = [part for one in worth or ["TYPE=RRU"] for part in ("--rru", one)]
    if form.get("workload_class"):
        given = ["--class", form["workload_class"]]
    owner = ("--owner", form.get("owner") or "OWNER")
    given += [part for kind in _kinds(form) for part in ("--survive-loss-of", kind)]
    given += [
        part
        for name in _named(form, RESOURCE_PREFIX)
        for part in ("--resource", f"{name}={form[f'{RESOURCE_PREFIX}{name}']}")
    ]
    if form.get("gbit_per_rru"):
        given += ["--gbit-per-rru", form["gbit_per_rru"]]
    if form.get("guest_of"):
        given += ["--guest-of", form["guest_of"], "--guest-share", form.get("guest_share") or "SHARE"]
    for prefix, (_, option) in KEPT_TOGETHER.items():
        given += [part for kind in _named(form, prefix) for part in (option, f"{kind}={form[f'{prefix}{kind}']}")]
    return ("create", form.get("name") or "NAME", *place, *owner, *given, *capacity)
