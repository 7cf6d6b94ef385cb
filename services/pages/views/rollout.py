"""One roll-out of a policy: its stage, what it may do next, and its shadow solves beside the real ones."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from starlette.responses import Response

from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField, read_number
from services.pages.parts.changes import changes
from services.pages.parts.pictures import Series, legend
from services.pages.parts.scatter import cycles_svg
from services.pages.parts.table import Column, Table
from services.pages.parts.words import moment_markup, number, parse_moment, spaced
from services.pages.views.rollouts import NOT_ALLOWED, SECTION, name_of, stage_badge
from services.pages.visit import Shown, Visit, go_to, link_markup, to_region

COMPARISONS_MAX = 100
"""Comparisons that the page reads: the API keeps no more of a roll-out."""
_DRAWN_MAX = 24
_PERCENT_MAX = 100
_FIGURES = (
    ("solve_s", "Seconds", "Seconds of the solve", "solve"),
    ("peak_mib", "MiB", "Peak memory, MiB", "solve"),
    ("moved_in_use", "In use", "Moves of servers in use", "at_old_prices"),
    ("moved_idle", "Idle", "Moves of idle servers", "at_old_prices"),
    ("shortfall_rru", "Short RRU", "RRU short", "at_old_prices"),
    ("reservations_short", "Short", "Reservations short", "at_old_prices"),
)
"""The judged figures: name, title of a column and of a picture, and the part of a report that has both solves."""
_COMMANDS = {"canary": "advance", "all": "advance", "resume": "resume", "back": "back"}
_KINDS = {"running": "info", "done": "good", "yielded": "", "failed": "bad"}
_REFUSED = (400, 403, 404, 409, 422, 429)


def show_rollout(visit: Visit) -> Shown | Response:
    """Show one roll-out of a region, or give it a command."""
    region, rollout_id = visit.place("region"), visit.place("rollout")
    detail = f"{region} has no roll-out of this address."
    path = f"/v1/policy-rollouts/{rollout_id}"
    rollout = visit.api.get_one("/v1/policy-rollouts", rollout_id, noun="roll-out", detail=detail, region=region)
    trouble = ""
    if visit.form:
        answer = _command(visit, region, path)
        if isinstance(answer, Response):
            return answer
        trouble = answer
        rollout = visit.api.get(path)
    why_not = _why_not(visit, rollout)
    comparisons = visit.api.items(f"{path}/comparisons", most=COMPARISONS_MAX)
    done = [one for one in reversed(comparisons) if one["report"]][-_DRAWN_MAX:]
    return Shown(
        template="rollout.html",
        title=f"Roll-out of {name_of(rollout, visit)}",
        region=region,
        section=SECTION,
        command=("rollout", "show", region),
        sources=[path, f"{path}/comparisons"],
        table=_comparisons(visit, region, comparisons),
        live=not visit.form,
        status=409 if trouble else 200,
        values={
            "rollout": rollout,
            "badge": stage_badge(rollout),
            "changes": changes(rollout["before"], rollout["change"]),
            "only_at_all": ", ".join(spaced(name).lower() for name in rollout["only_at_all"]),
            "pictures": _pictures(done),
            "legend": legend(
                [("f1", "real solve"), ("f2", "dashed: shadow solve"), ("f6", "the most that the history allows")]
            ),
            "asked": "asked" in visit.query,
            "trouble": trouble,
            "share": visit.form.get("share", "") if trouble else "",
            "reason": visit.form.get("reason", "") if trouble else "",
            "why_not": why_not,
            "none_can": all(why_not.values()),
        },
    )


def _command(visit: Visit, region: str, path: str) -> Response | str:
    """Give the command of the form, and lead back to the page. Return why it was refused."""
    form = visit.form
    command, generation = form.get("command", ""), form.get("generation", "")
    if command not in _COMMANDS or not generation.isdecimal():
        return "The command cannot be read. Open the page again, and decide there."
    body: Json = {"reason": form.get("reason", "").strip()}
    if command == "canary":
        try:
            share = read_number(form, "share", needed=True)
        except WrongField as wrong:
            return f"The share of the canary {wrong.message}: a percentage above 0 and below 100."
        body["share"] = float(share or 0.0) / _PERCENT_MAX
    try:
        visit.api.send("POST", f"{path}/{_COMMANDS[command]}", body, generation=int(generation))
    except ApiProblem as problem:
        if problem.status not in _REFUSED:
            raise
        if problem.code == "stale_generation":
            return "Somebody changed it after you read it. Below is what it says now: decide again."
        return " ".join([problem.detail, *(f"{spaced(name)} {said}." for name, said in problem.fields.items())])
    asked = "?asked=1" if _COMMANDS[command] == "advance" else ""
    return go_to(f"{to_region(region, 'rollouts', visit.place('rollout'))}{asked}")


def _why_not(visit: Visit, rollout: Json) -> dict[str, str]:
    """Return why each command cannot work; "" if it can."""
    if not visit.may(Role.OPERATOR):
        return dict.fromkeys(_COMMANDS, NOT_ALLOWED)
    return {command: rollout["refusals"][command] or "" for command in _COMMANDS}


def _pair(one: Json, part: str, name: str) -> tuple[float, float] | None:
    """Return a figure of the real solve and of the shadow solve; None if there is no report."""
    if one["report"] is None:
        return None
    found = one["report"][part]
    return float(found["real"][name]), float(found["shadow"][name])


def _most(one: Json, name: str) -> float | None:
    """Return the most that the history allowed, as far as a finding says it."""
    told = [finding["numbers"].get(f"{name}_most") for finding in one["findings"]]
    return next((most for most in told if most is not None), None)


def _pictures(done: Sequence[Json]) -> list[tuple[str, Markup]]:
    """Return the title and picture of each figure over the comparisons, oldest first. Leave out what is always 0."""
    times = [f"{parse_moment(one['started_at']):%H:%M}" for one in done]
    found = []
    for name, _, title, part in _FIGURES:
        pairs = [pair for one in done if (pair := _pair(one, part, name)) is not None]
        if not any(value for pair in pairs for value in pair):
            continue
        lines = [
            Series("real solve", "l1", [real for real, _ in pairs]),
            Series("shadow solve", "l2", [shadow for _, shadow in pairs], dashed=True),
            Series("the most that history allows", "l6", [_most(one, name) for one in done]),
        ]
        found.append((title, cycles_svg(title, times, lines)))
    return found


def _comparisons(visit: Visit, region: str, rows: list[Json]) -> Table:
    def figure(name: str, title: str, hint: str, part: str) -> Column:
        def shadow(one: Json) -> float | None:
            pair = _pair(one, part, name)
            return None if pair is None else pair[1]

        def both(one: Json) -> Markup | str | None:
            pair = _pair(one, part, name)
            return None if pair is None else _marked(one, name, f"{number(pair[0])} / {number(pair[1])}")

        return Column(name, title, shadow, both, number=True, hint=f"{hint}: of the real solve, then of the shadow")

    return Table(
        name="comparisons",
        caption="Comparisons with real solves",
        columns=[
            Column(
                "started",
                "Solve",
                lambda one: one["started_at"],
                lambda one: link_markup(
                    to_region(region, "solves", str(one["solve_run_id"])), moment_markup(one["started_at"], visit.now)
                ),
            ),
            Column("stage", "Stage", lambda one: spaced(one["stage"])),
            Column("status", "Status", lambda one: one["status"], _status),
            figure("total", "Cost", "All terms at the old prices", "at_old_prices"),
            Column(
                "bound_differently",
                "Differ",
                lambda one: one["report"] and one["report"]["bound_differently"],
                number=True,
                hint="Servers that the two plans bind differently",
            ),
            *(figure(name, title, words, part) for name, title, words, part in _FIGURES),
            Column("why", "What held it", _why),
        ],
        rows=rows,
        path=visit.path,
        query={name: value for name, value in visit.query.items() if name != "asked"},
        empty="No solve was compared yet. The next solve of the region is solved with the new policy too.",
        order="-started",
    )


def _marked(one: Json, name: str, words: str) -> Markup | str:
    """Return the words with a mark if a finding says that the figure is outside the history."""
    if not any(name in finding["numbers"] for finding in one["findings"]):
        return words
    return Markup('<span class="badge warn" title="Outside the history of the region">{}</span>').format(words)


def _status(one: Json) -> Markup:
    return Markup('<span class="badge {}">{}</span>').format(_KINDS[one["status"]], spaced(one["status"]))


def _why(one: Json) -> str | None:
    return "; ".join(finding["message"] for finding in one["findings"]) or one["error"]
