"""Deeds of those who carry plans out: create executions, give commands, approve actions, and read the ledger."""

from __future__ import annotations

from collections.abc import Collection

from soak.history import Json
from soak.systems import reservation_place, traffic_place
from soak.work.client import Client
from soak.work.planned_world import RRU

PATIENT_S, IMPATIENT_S = 30 * 86_400.0, 300.0
"""Seconds of the Clock until a request without a result counts as failed. A patient execution never comes to that, even
if the Clock jumps: it asks under a new key only if a system has said that the old request failed.
"""
_PATIENT = 0.7
ENDED = frozenset({"done", "reversed", "aborted", "superseded"})
"""States of an execution that has ended."""
_ABOUT_PLANS = {"start": 40, "resume": 40, "pause": 3, "abort": 1, "reverse": 1}
_ABOUT_ACTIONS = {"approve": 60, "retry": 40, "complete": 40, "reject": 1, "skip": 1, "take_over": 1, "reverse": 1}
"""Command -> weight among those that are possible."""
_BY_PHASE = 0.7
"""Share of approvals that are about all actions of a phase."""
_NOTHING = 30
"""Weight of no command at all."""


def execute(client: Client) -> None:
    """Prepare an execution of the target plan, and start it."""
    plans = client.read("list_placement_plans", "/v1/placement-plans?limit=10")
    target = next((one for one in (plans or {"items": []})["items"] if one["target"]), None)
    if target is None:
        return
    terms = {
        "fractions": [0.5, 1.0],
        "bake_s": 60.0,
        "downsize_bake_s": 60.0,
        "action_s_max": PATIENT_S if client.chance.random() < _PATIENT else IMPATIENT_S,
        "attempts_max": 2,
        "retry_s": 30.0,
    }
    body = {"placement_plan_id": target["placement_plan_id"], "reason": "soak", "terms": terms}
    made = client.write("create_execution", "POST", "/v1/plan-executions", body)
    if made is not None and client.chance.random() < 0.8:
        _command(client, made, "start", "start_execution")


def command_plan(client: Client) -> None:
    """Give a command about a whole execution that should be possible now."""
    found = _open_execution(client)
    verb = None if found is None else _chosen(client, _ABOUT_PLANS, found["possible"])
    if found is not None and verb is not None:
        _command(client, found, verb, f"{verb}_execution")


def command_action(client: Client) -> None:
    """Give a command about an action that should be possible now. An action that was taken over is done by hand."""
    found = _open_execution(client)
    listed = None if found is None else client.read("list_actions", f"{_path(found)}/actions?limit=1000")
    actions = (listed or {"items": []})["items"]
    verb = _chosen(client, _ABOUT_ACTIONS, {verb for one in actions for verb in one["possible"]})
    if found is None or verb is None:
        return
    action = client.chance.choice([one for one in actions if verb in one["possible"]])
    if verb == "complete":
        _do_by_hand(client, found, action)
    by_phase = verb == "approve" and client.chance.random() < _BY_PHASE
    _command(client, found, verb, f"{verb}_action", action, by_phase=by_phase)


def decide_action(client: Client) -> None:
    """Approve or reject an action of a plan in the list of approvals."""
    waiting = client.read("list_approvals", "/v1/approvals?kind=plan_action&status=pending&limit=20")
    if waiting is None or not waiting["items"]:
        return
    one = client.chance.choice(waiting["items"])
    verb = client.chance.choice(("approve", "approve", "approve", "reject"))
    path = f"/v1/approvals/{one['approval_id']}/{verb}"
    client.swap(f"decide_{verb}", "POST", path, {"reason": "soak"}, generation=one["generation"])


def look_at_ledger(client: Client) -> None:
    """Read the events of an execution's plan."""
    found = _open_execution(client)
    if found is not None:
        plan = found["placement_plan_id"]
        client.read("list_capacity_events", f"/v1/capacity-events?placement_plan_id={plan}&limit=1000")


def _open_execution(client: Client) -> Json | None:
    """Return a random execution that has not ended; None if there is none."""
    listed = client.read("list_executions", "/v1/plan-executions?limit=10")
    found = [one for one in (listed or {"items": []})["items"] if one["state"] not in ENDED]
    return client.chance.choice(found) if found else None


def _chosen(client: Client, weights: dict[str, int], possible: Collection[str]) -> str | None:
    """Return one of the possible commands, or often none: an execution that is always disturbed does nothing."""
    found = {verb: weight for verb, weight in weights.items() if verb in possible}
    return client.chance.choices([*found, None], [*found.values(), _NOTHING])[0]


def _command(
    client: Client, execution: Json, verb: str, what: str, action: Json | None = None, *, by_phase: bool = False
) -> None:
    level = "phase" if by_phase else "action"
    about = {} if action is None else {"level": level, "subject": action[level]}
    client.write(what, "POST", f"{_path(execution)}/commands", {"verb": verb, "reason": "soak", **about})


def _path(execution: Json) -> str:
    return f"/v1/plan-executions/{execution['plan_execution_id']}"


def _do_by_hand(client: Client, execution: Json, action: Json) -> None:
    """Do what an operator does before `complete`, unless the action waits for others."""
    key = f"{execution['plan_execution_id']}/{action['action']}/0"
    if action["phase"] == "shift":
        place = traffic_place(action["product"], action["region"], action["to_region"])
        client.site.systems.do_by_hand(key, place, action["after"])
    elif action["service"] is not None:
        place = reservation_place(action["region"], action["service"])
        client.site.systems.do_by_hand(key, place, action["size"] * RRU)
