"""The roll-outs of a region's policy, latest first, and the form that starts one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField
from services.pages.parts.changes import changes
from services.pages.parts.table import ROWS_MAX, Column, Table
from services.pages.parts.words import moment_markup, moment_text, parse_moment, percent, spaced
from services.pages.views import what_if_form
from services.pages.visit import Shown, Visit, go_to, link_markup, segment, to_region

SECTION = "solves"
"""The entry of the navigation: a roll-out is a matter of solves."""
NOT_ALLOWED = "Operators roll policies out. You have another role."
_STAGES = {"shadow": "info", "canary": "info", "all": "good", "back": "", "superseded": ""}
_OPEN = ("shadow", "canary")
_REFUSED = (400, 403, 404, 409, 422, 429)


def stage_badge(rollout: Json) -> Markup:
    """Return the badge of a roll-out's stage, and another one if it is held."""
    words = spaced(rollout["stage"])
    if rollout["stage"] == "canary":
        words = f"Canary of {percent(rollout['share'])}"
    badge = Markup('<span class="badge {}">{}</span>').format(_STAGES[rollout["stage"]], words)
    held = Markup(' <span class="badge warn">Held</span>') if rollout["held"] else ""
    return badge + held


def name_of(rollout: Json, visit: Visit) -> str:
    """Return how people name a roll-out: by its time."""
    return moment_text(parse_moment(rollout["created_at"]), visit.now)


def change_of(rollout: Json) -> str:
    """Return what a roll-out changes, in one line."""
    return "; ".join(f"{name}: {was} → {will}" for name, was, will in changes(rollout["before"], rollout["change"]))


def path_of(region: str, rollout: Json) -> str:
    """Return the path of the page of a roll-out."""
    return to_region(region, "rollouts", str(rollout["policy_rollout_id"]))


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer that starts nothing: a sentence, and what is wrong with fields of the form."""

    said: str = ""
    wrong: Mapping[str, str] = field(default_factory=dict)


def show_rollouts(visit: Visit) -> Shown | Response:
    """Show the roll-outs of a region, or start one."""
    name = visit.place("region")
    region = visit.api.get(f"/v1/regions/{segment(name)}")
    refusal = _Refusal()
    if visit.form:
        answer = _start(visit, region)
        if isinstance(answer, Response):
            return answer
        refusal = answer
    part = visit.api.part("/v1/policy-rollouts", region=name, most=ROWS_MAX, cursor=visit.query.get("after"))
    running = next((one for one in part.items if one["stage"] in _OPEN), None)
    why_not = "" if visit.may(Role.OPERATOR) else NOT_ALLOWED
    if not why_not and running is not None:
        why_not = f"The roll-out of {name_of(running, visit)} is under way. A region has one at a time."
    return Shown(
        template="rollouts.html",
        title="Roll-outs of the policy",
        region=name,
        section=SECTION,
        command=("rollout", "show", name),
        sources=[f"/v1/policy-rollouts?region={segment(name)}"],
        table=_rollouts(visit, name, part.items, part.next_cursor),
        live=not visit.form,
        status=409 if refusal.said else 422 if refusal.wrong else 200,
        values={
            "generation": visit.form.get("generation", region["generation"]),
            "weights": [{**one, "now": region["policy"][one["name"]]} for one in what_if_form.weights()],
            "form": visit.form,
            "wrong": refusal.wrong,
            "trouble": refusal.said,
            "why_not": why_not,
        },
    )


def _start(visit: Visit, region: Json) -> Response | _Refusal:
    """Start the roll-out that the form describes, and lead to its page. The form has the generation that was read."""
    form, generation = visit.form, visit.form.get("generation", "")
    try:
        policy = what_if_form.read_policy(form)
    except WrongField as unread:
        return _Refusal(wrong={unread.field: unread.message})
    if not policy:
        return _Refusal("Fill in a new value for at least one weight.")
    body = {"region": region["name"], "policy": policy, "reason": form.get("reason", "").strip()}
    at = int(generation) if generation.isdecimal() else int(region["generation"])
    try:
        made = visit.api.send("POST", "/v1/policy-rollouts", body, generation=at)
    except ApiProblem as problem:
        if problem.status not in _REFUSED:
            raise
        if problem.code == "stale_generation":
            return _Refusal("Somebody changed the region after you read it. Open the page again, and decide there.")
        wrong = {path.replace("policy.", what_if_form.POLICY, 1): said for path, said in problem.fields.items()}
        return _Refusal("" if wrong else problem.detail, wrong)
    return go_to(path_of(region["name"], made))


def _rollouts(visit: Visit, region: str, rows: list[Json], next_cursor: str | None) -> Table:
    return Table(
        name="rollouts",
        caption=f"Roll-outs of {region}",
        columns=[
            Column(
                "started",
                "Began",
                lambda one: one["created_at"],
                lambda one: link_markup(path_of(region, one), name_of(one, visit)),
            ),
            Column("stage", "Stage", lambda one: one["stage"], stage_badge),
            Column("change", "Change", change_of),
            Column("compared", "Comparisons", lambda one: one["compared"], number=True, hint="In its stage"),
            Column("by", "Started by", lambda one: one["started_by"]),
            Column("reason", "Reason", lambda one: one["reason"]),
            Column(
                "since",
                "In this stage since",
                lambda one: one["stage_at"],
                lambda one: moment_markup(one["stage_at"], visit.now),
            ),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No policy was rolled out here yet. The form below starts a roll-out; it changes nothing at first.",
        next_cursor=next_cursor,
        order="-started",
    )
