"""A plan in motion: one execution by phases, over time, with its gates and the commands about it."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from services.pages.api import ApiProblem, Json
from services.pages.parts.pictures import legend
from services.pages.parts.states import LEGEND, action_badge, execution_badge
from services.pages.parts.table import ROWS_MAX
from services.pages.parts.words import age, count, number, parse_moment
from services.pages.views import execution_pictures as pictures
from services.pages.views import execution_tables as tables
from services.pages.views.execution_commands import Panel, give, load_panel
from services.pages.views.executions import name_of, path_of
from services.pages.visit import Shown, Visit, go_to

LANES_MAX = 40
"""Actions of which each has a box and a lane of its own. Of more, those of a phase and region share one."""
_CSV_MAX = 1000
_FILTERS = ("phase", "state", "region")
_UNDER_WAY = ("running", "baking", "reversing")
_FOR_A_PERSON = ("awaiting_approval", "held", "failed", "reversed", "taken_over")
_KINDS = (
    ("too_small", "too small"),
    ("not_to_be_rebalanced", "not to be rebalanced"),
    ("too_little_headroom", "too little headroom"),
    ("deprecated", "deprecated"),
    ("bad_estimate", "bad estimate"),
    ("other", "other"),
)


def show_execution(visit: Visit) -> Shown | Response:
    """Show one execution, or give a command about it."""
    execution_id = visit.place("execution")
    path = f"/v1/plan-executions/{execution_id}"
    trouble = ""
    if visit.form:
        trouble = give(visit, path)
        if not trouble:
            return go_to(_url(visit))
    detail = "No execution has this address."
    execution = visit.api.get_one("/v1/plan-executions", execution_id, noun="execution", detail=detail)
    timeline = visit.api.get(f"{path}/timeline", lanes_max=LANES_MAX)
    whole = timeline["lanes_are"] == "action"
    # The generations of the panels are read before the sizes: an edit in between makes them stale, and not the sizes.
    panels = [load_panel(visit, path, "plan", "", "The whole execution")]
    phase = visit.query.get("phase", "")
    if phase in pictures.PHASES:
        panels.append(load_panel(visit, path, "phase", phase, f"Phase: {pictures.PHASES[phase].lower()}"))
    chosen, of_action = _chosen(visit, path)
    actions, cut = _actions(visit, path)
    gates = visit.api.get(f"{path}/gates")["items"] if execution["terms"]["gates"] else []
    main = tables.of_actions(visit, actions, lambda one: _url(visit, action=one), _regions(timeline), cut)
    further = [
        tables.of_gates(visit, gates, lambda one: _url(visit, action=one), has_gates=bool(execution["terms"]["gates"])),
        tables.of_path(visit, timeline, lambda one: _url(visit, action=one)),
        tables.of_commands(visit, visit.api.items(f"{path}/commands", most=tables.COMMANDS_MAX)),
    ]
    if chosen is not None:
        further.append(tables.of_readings(visit, visit.api.rows(f"{path}/actions/{chosen['position']}/readings")))
    return Shown(
        template="execution.html",
        title=f"Execution of {name_of(execution, visit)}",
        section="executions",
        command=_command(execution_id, visit, chosen),
        sources=[path, f"{path}/timeline", f"{path}/actions", f"{path}/command-answers", f"{path}/gates"],
        table=main,
        tables=further,
        live=execution["finished_at"] is None and not visit.form,
        status=409 if trouble else 200,
        values={
            "execution": execution,
            "badge": execution_badge(execution["state"]),
            "action_badge": action_badge,
            "back": execution["reverses_execution_id"] and path_of(execution["reverses_execution_id"]),
            "trouble": trouble,
            "reason": visit.form.get("reason", "") if trouble else "",
            "here": _url(visit),
            "timeline": timeline,
            "graph": _graph(visit, path, timeline, chosen, whole=whole),
            "collapsed": "" if whole else _collapsed(timeline),
            "age_of": lambda text: age(parse_moment(text), visit.now),
            "lanes": pictures.time_line(visit, timeline["lanes"]),
            "legend": legend(LEGEND),
            "panels": panels,
            "chosen": chosen,
            "of_action": of_action,
            "unchosen": _url(visit, action=None),
            "kinds": _KINDS,
            "waits": pictures.waiting_words,
            "amount": tables.amount,
            "note": tables.note_words(chosen["note"]) if chosen is not None else None,
            "actions": main,
            "gates": further[0],
            "critical": further[1],
            "log": further[2],
            "readings": further[3] if chosen is not None else None,
            "of_states": _of_states(execution["actions"]),
            "phases": pictures.PHASES,
            "phase_url": lambda name: _url(visit, phase=name, action=None),
        },
    )


def _actions(visit: Visit, path: str) -> tuple[list[Json], str]:
    """Return the actions that pass the filters of the URL, and a sentence about those that were not read."""
    most = _CSV_MAX if visit.query.get("format") == "csv" else ROWS_MAX
    wanted = {name: visit.query.get(name) for name in _FILTERS}
    try:
        found = visit.api.items(f"{path}/actions", most=most, **wanted)
    except ApiProblem as problem:
        if problem.status != 422:  # of a filter that a person wrote into the URL
            raise
        return [], " ".join([problem.detail, *problem.fields.values()])
    more = f"These are the first {number(most)} actions in their order. Filter by phase, state or region to see others."
    return found, more if len(found) == most else ""


def _chosen(visit: Visit, path: str) -> tuple[Json | None, Panel | None]:
    """Return the action of the URL, and the commands about it."""
    name = visit.query.get("action")
    if name is None:
        return None, None
    try:
        panel = load_panel(visit, path, "action", name, "Commands about it")
        found = visit.api.get(f"{path}/actions", action=name, limit=1)["items"]
    except ApiProblem as problem:
        if problem.status != 422:
            raise
        return None, None
    return (found[0], panel) if found else (None, None)


def _graph(visit: Visit, path: str, timeline: Json, chosen: Json | None, *, whole: bool) -> object:
    if not whole:
        return pictures.graph_of_lanes(
            timeline["lanes"], lambda phase, region: _url(visit, "actions", phase=phase, region=region, action=None)
        )
    critical = {step["action"] for step in timeline["critical_path"]}
    return pictures.graph_of_actions(
        visit.api.items(f"{path}/actions"),
        critical,
        chosen["action"] if chosen else "",
        lambda action: _url(visit, "action", action=action),
    )


def _collapsed(timeline: Json) -> str:
    what = "the actions of a phase in a region" if timeline["lanes_are"] == "region" else "the actions of a phase"
    return f"{count(timeline['actions'], 'action')} are too many to draw: each box and each lane has {what}."


def _regions(timeline: Json) -> list[str]:
    return sorted({lane["region"] for lane in timeline["lanes"] if lane["region"]})


def _of_states(actions: Json) -> Json:
    """Return the number of actions: in all, done, under way, for a person, skipped. Nodes without work do not count."""
    sums: dict[str, int] = {}
    for phase, states in actions.items():
        for state, found in states.items() if phase != "settled" else ():
            sums[state] = sums.get(state, 0) + found
    return {
        "all": sum(sums.values()),
        "done": sums.get("done", 0),
        "skipped": sums.get("skipped", 0),
        "under_way": sum(sums.get(state, 0) for state in _UNDER_WAY),
        "for_a_person": sum(sums.get(state, 0) for state in _FOR_A_PERSON),
        "parts": [(state, sums[state]) for state in _FOR_A_PERSON if sums.get(state)],
    }


def _url(visit: Visit, anchor: str = "", **changes: str | None) -> str:
    query = {**visit.query, "format": None, "table": None, **changes}
    kept = urlencode({name: value for name, value in query.items() if value})
    return visit.path + (f"?{kept}" if kept else "") + (f"#{anchor}" if anchor else "")


def _command(execution_id: str, visit: Visit, chosen: Json | None) -> tuple[str, ...]:
    if chosen is not None:
        verb = chosen["possible"][0] if chosen["possible"] else "pause"
        return ("execution", "give", execution_id, verb, "--action", chosen["action"], "--reason", "WHY")
    filters = [part for name in _FILTERS if name in visit.query for part in (f"--{name}", visit.query[name])]
    return ("execution", "actions" if filters else "show", execution_id, *filters)
