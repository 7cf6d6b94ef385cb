"""Changes that wait for a person, and past decisions. A decision belongs to the version that the person read."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json, Part
from services.pages.parts.approval_names import heading_of
from services.pages.parts.changes import rows_of
from services.pages.parts.table import ROWS_MAX, Column, Table
from services.pages.parts.words import moment_markup, spaced
from services.pages.visit import Shown, Visit, go_to, segment, to_region

_WORDS = {"approve": "Approve", "reject": "Reject"}
_KINDS = {"granted": "good", "degraded": "warn", "rejected": "bad"}
_ASKED_BY_SERVICES = {"below_hold", "plan_action"}
"""Kinds of approvals that no person asks for."""
_DIGITS_MAX = 15
_WAITING_MAX = 50
"""Approvals that the page shows with their forms. A link leads to further ones."""


def show_approvals(visit: Visit) -> Shown | Response:
    """Show what waits in a region, or decide on one of it."""
    region = visit.place("region")
    foreseen = _foreseen(visit)
    if foreseen and visit.is_fragment:
        island = "approval_effects.html"
        return Shown(template=island, island=island, title="", command=(), sources=(), region=region, values=foreseen)
    trouble = ""
    if visit.form:
        try:
            _decide(visit)
        except ApiProblem as problem:
            if problem.status == 401:
                raise
            trouble = " ".join([problem.detail, *problem.fields.values()])
            if problem.code == "stale_generation":
                trouble = "Somebody changed it after you read it. Below is what it says now: decide again."
        else:
            return go_to(to_region(region, "approvals"))
    part = visit.api.part(
        "/v1/approvals", region=region, status="pending", most=_WAITING_MAX, cursor=visit.query.get("waiting.after")
    )
    waiting = sorted(part.items, key=lambda one: str(one["created_at"]))
    limits = visit.api.get(f"/v1/regions/{segment(region)}/approval-limits")
    requests = _requests(visit, region, waiting)
    table = _decided(
        visit,
        visit.api.part("/v1/approvals", region=region, decided="true", most=ROWS_MAX, cursor=visit.query.get("after")),
    )
    return Shown(
        template="approvals.html",
        title="Approvals",
        region=region,
        section="approvals",
        command=("get", "approvals", "--where", f"region={region}", "--where", "status=pending"),
        sources=[f"/v1/approvals?region={segment(region)}&status=pending"],
        table=table,
        live=not visit.form and not foreseen,
        status=409 if trouble else 200,
        values={
            "waiting": [
                {
                    **one,
                    "heading": heading_of(one),
                    "rows": rows_of(one["kind"], one["before"], one["change"]),
                    "compares": one["before"] is not None or one["kind"] == "below_hold",
                    "why_not": _why_not(visit, one, limits),
                    "others": _others(region, one, requests.get(one["capacity_request_id"])),
                }
                for one in waiting
            ],
            "foreseen": None,
            **foreseen,
            "may_foresee": visit.may(Role.OPERATOR),
            "waiting_max": _WAITING_MAX,
            "waiting_next": part.next_cursor and table.url(**{"waiting.after": part.next_cursor}),
            "waiting_first": "waiting.after" in visit.query and table.url(**{"waiting.after": None}),
            "trouble": trouble,
            "reason": visit.form.get("reason", "") if trouble else "",
            "words": _WORDS,
            "asked_by_services": _ASKED_BY_SERVICES,
        },
    )


def _foreseen(visit: Visit) -> Json:
    """Return what the approval in the URL would take from others that wait; {} if the URL names none."""
    number = visit.query.get("effects", "")
    if not number.isdecimal() or len(number) > _DIGITS_MAX:
        return {}
    values: Json = {"foreseen": int(number), "effects": None, "effects_trouble": "", "kinds": _KINDS}
    try:
        values["effects"] = visit.api.get(f"/v1/approvals/{number}/effects")
    except ApiProblem as problem:
        if problem.status not in (403, 404, 409, 429):
            raise
        values["effects_trouble"] = problem.detail
    return values


def _requests(visit: Visit, region: str, waiting: list[Json]) -> dict[int, Json]:
    """Return the capacity requests that wait, by id, if one of the approvals is about one."""
    if all(one["capacity_request_id"] is None for one in waiting):
        return {}
    found = visit.api.items("/v1/capacity-requests", region=region, phase="awaiting_approval")
    return {one["capacity_request_id"]: one for one in found}


def _others(region: str, one: Json, request: Json | None) -> Json | None:
    """Return what an approved request would do now, to itself and to others; None for other kinds of approvals."""
    if request is None:
        return None
    what_if = ""
    if request["reservation_id"] is not None and request["spec"] is not None:
        demand = {
            "demand:1:name": request["reservation"],
            "demand:1:capacity_rru": f"{request['spec']['capacity_rru']:g}",
        }
        what_if = f"{to_region(region, 'what-if')}?{urlencode(demand)}"
    numbers = request["status"]["numbers"]
    answer = request["status"]["message"].partition("Approved now, ")[2]
    return {"answer": answer, "taken": numbers.get("free_servers"), "what_if": what_if}


def _decide(visit: Visit) -> None:
    form = visit.form
    verb, approval, generation = form.get("decision", ""), form.get("approval", ""), form.get("generation", "")
    if verb not in _WORDS or not approval.isdecimal() or not generation.isdecimal():
        raise ApiProblem(
            422, {"title": "The decision cannot be read", "detail": "Open the page again, and decide there."}
        )
    path = f"/v1/approvals/{approval}/{verb}"
    visit.api.send("POST", path, {"reason": form.get("reason", "").strip()}, generation=int(generation))


def _why_not(visit: Visit, one: Json, limits: Json) -> str:
    """Return why the person cannot decide; "" if the API would let them. The API decides in the end."""
    if not one["possible"]:
        return "It cannot be decided now."
    mine = one["kind"] == "plan_action" and one["owner"] in visit.who["owners"]
    if not visit.may(Role.OPERATOR) and not mine:
        return "Operators decide on this. You have another role."
    if limits["four_eyes"] and visit.who["name"] in one["asked_by"]:
        return "You asked for it yourself, and this region wants a second person."
    return ""


def _decided(visit: Visit, part: Part) -> Table:
    return Table(
        name="decisions",
        caption="Past decisions",
        columns=[
            Column("what", "What", heading_of),
            Column("decision", "Decision", lambda a: spaced(a["status"])),
            Column("by", "By", lambda a: a["decided_by"]),
            Column("reason", "Reason", lambda a: a["decision_reason"]),
            Column("asked", "Asked by", lambda a: ", ".join(a["asked_by"])),
            Column("at", "Decided", lambda a: a["decided_at"], lambda a: moment_markup(a["decided_at"], visit.now)),
        ],
        rows=part.items,
        next_cursor=part.next_cursor,
        path=visit.path,
        query=visit.query,
        empty="Nothing was decided here yet.",
        command=("get", "approvals", "--where", f"region={visit.place('region')}", "--where", "decided=true"),
        order="-at",
    )
