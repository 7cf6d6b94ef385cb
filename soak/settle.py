"""After the faults: wait until the platform is quiet, and read back its whole state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from services.cli.client import Client
from services.cli.failure import CliFailure
from soak.history import Json, Recorder
from soak.watched_jobs import load_jobs
from soak.work.executing import ENDED

LISTS = {
    "regions": "/v1/regions",
    "capacity_requests": "/v1/capacity-requests",
    "reservations": "/v1/reservations",
    "deleted_reservations": "/v1/reservations?phase=deleted",
    "servers": "/v1/servers",
    "events": "/v1/unavailability-events",
    "solve_runs": "/v1/solve-runs",
    "plans": "/v1/plans",
    "audit": "/v1/audit-entries",
    "approvals": "/v1/approvals",
    "quotas": "/v1/quotas",
    "tokens": "/v1/tokens",
    "simulations": "/v1/simulations",
    "retirements": "/v1/retirements",
    "plan_runs": "/v1/plan-runs",
    "grants": "/v1/plans?kind=grant",
    "replacements": "/v1/plans?kind=replacement",
    "placement_plans": "/v1/placement-plans",
    "plan_executions": "/v1/plan-executions",
    "traced_services": "/v1/telemetry/services?days=366",
}
_TROUBLE: tuple[type[Exception], ...] = (CliFailure, *UNAVAILABLE)
_HOW_IT_ENDS = {"reason": "the soak ends"}
_WAIT_FOR_A_PERSON = frozenset({"awaiting_approval", "held", "failed", "reversed", "taken_over"})
"""States of an action in which it goes on only by a command. No gate holds an action here."""
_LATEST = frozenset({"solve_runs", "plans"})
"""Lists of which only the latest page is read, because no rule needs older rows."""


def settle(
    admin: Client,
    database: Database,
    recorder: Recorder,
    tend: Callable[[], None],
    *,
    s_max: float,
    is_up: Callable[[], bool] = lambda: True,
) -> None:
    """Write the `final` record: `quiet_s` after the faults (null: never), and the state as REST shows it.

    The state must be read while nothing changes. If a solve changes something meanwhile, the state is read again.

    tend    restarts dead processes; only this thread may do that, so nothing here blocks for long
    is_up   returns whether the API answers at once, because `admin` would wait for it
    """
    began_s = time.monotonic()
    asked: dict[str, int] = {}
    waits_for, quiet_s = "anything", None
    found: dict[str, Any] = {}
    while waits_for and time.monotonic() - began_s < s_max:
        tend()
        if not is_up():
            waits_for = "the API"
            time.sleep(0.2)
            continue
        try:
            asked = asked or _solve_all(admin)
            _resolve_doubt(admin)
            _approve_moves(admin)
            _finish_executions(admin)
            waits_for = _unquiet(admin, database, asked)
            if not waits_for:
                quiet_s = round(time.monotonic() - began_s, 1)
                stood = _standing(admin)
                found = _read_back(admin)
                if _unquiet(admin, database, asked) or _standing(admin) != stood:
                    waits_for = "a moment in which nothing changes"
        except _TROUBLE as error:  # the API has not come back yet
            waits_for = str(error)
        time.sleep(0.5)
    if waits_for:
        quiet_s, found = None, _read_back(admin)
    recorder.write("final", quiet_s=quiet_s, waits_for=waits_for, **load_jobs(database), **found)


def _standing(admin: Client) -> list[tuple[str, int]]:
    """Return every server with its generation. Any move and any new target raises a generation."""
    return [(server["name"], server["generation"]) for server in _items(admin, "/v1/servers", latest=False)]


def _read_back(admin: Client) -> dict[str, Any]:
    """Return the whole state, by the name of the list."""
    found: dict[str, Any] = {name: list(_items(admin, path, latest=name in _LATEST)) for name, path in LISTS.items()}
    for grant in found["grants"]:
        grant["made"] = list(_items(admin, f"/v1/plans/{grant['plan_id']}/changes", latest=False))
    found["imports"] = [
        one
        for region in found["regions"]
        for one in _items(admin, f"/v1/regions/{region['name']}/imports", latest=False)
    ]
    found["planning_inputs"] = admin.get("/v1/planning-inputs")
    found["telemetry"] = [admin.get("/v1/telemetry?days=366")]
    found["capacity_events"] = [
        admin.get(f"/v1/capacity-events/{event['capacity_event_id']}")
        for event in _items(admin, "/v1/capacity-events", latest=False)
    ]
    found["execution_actions"] = [
        action | {"plan_execution_id": one["plan_execution_id"]}
        for one in found["plan_executions"]
        for action in _items(admin, f"/v1/plan-executions/{one['plan_execution_id']}/actions", latest=False)
    ]
    found["moves"] = [admin.get(f"/v1/moves/{move['move_id']}") for move in _items(admin, "/v1/moves", latest=False)]
    return found


def _items(admin: Client, path: str, *, latest: bool) -> Iterator[Json]:
    path += ("&" if "?" in path else "?") + "limit=1000"
    cursor = ""
    while True:
        page = admin.get(path + cursor)
        yield from page["items"]
        if page["next_cursor"] is None or latest:
            return
        cursor = f"&cursor={page['next_cursor']}"


def _solve_all(admin: Client) -> dict[str, int]:
    """Ask for a solve of every region, to repair the effects of faults, and return each region's last run before it."""
    asked = {}
    for region in _items(admin, "/v1/regions", latest=False):
        said = admin.post("/v1/solve-runs", {"region": region["name"]})
        asked[region["name"]] = said["after_solve_run_id"] or 0
    return asked


def _resolve_doubt(admin: Client) -> None:
    """Retry dead letters without a known outcome, as an operator does once the receiver is back."""
    in_doubt = {
        (server["region"], server["name"])
        for server in _items(admin, "/v1/servers", latest=False)
        if server["in_doubt_reservation"] is not None
    }
    for move in list(_items(admin, "/v1/moves?dead_letter=open", latest=False)):
        if move["reason"].startswith("no_answer") or (move["region"], move["server"]) in in_doubt:
            admin.post(f"/v1/moves/{move['move_id']}/retry", {"reason": "the receiver is back"})


def _approve_moves(admin: Client) -> None:
    """Approve the moves below a promise that wait for it, because they would wait forever."""
    for one in list(_items(admin, "/v1/approvals?status=pending&kind=below_hold", latest=False)):
        path = f"/v1/approvals/{one['approval_id']}/approve"
        admin.post(path, {"reason": "the soak ends"}, generation=one["generation"])


def _finish_executions(admin: Client) -> None:
    """Let every execution come to its end: approve, retry and skip what waits for a person."""
    for one in _items(admin, "/v1/plan-executions", latest=True):
        path = f"/v1/plan-executions/{one['plan_execution_id']}"
        for verb in ("resume", "abort") if one["state"] in ("draft", "paused") else ():
            if verb in one["possible"]:
                admin.post(f"{path}/commands", _HOW_IT_ENDS | {"verb": verb})
                break
        for action in _items(admin, f"{path}/actions", latest=False) if one["state"] == "running" else ():
            verb = "approve" if action["state"] == "awaiting_approval" else "skip"
            if action["state"] in _WAIT_FOR_A_PERSON and verb in action["possible"]:
                about = {"verb": verb, "level": "action", "subject": action["action"]}
                admin.post(f"{path}/commands", _HOW_IT_ENDS | about)


def _unquiet(admin: Client, database: Database, asked: Mapping[str, int]) -> str:
    """Return a description of the work still in progress; empty if there is none."""
    for phase in ("submitted", "assessing", "scheduled"):
        waiting = admin.get(f"/v1/capacity-requests?phase={phase}&limit=1")["items"]
        if waiting:
            return f"capacity request {waiting[0]['capacity_request_id']} is {phase}"
    running = admin.get("/v1/moves?status=running&limit=1")["items"]
    if running:
        return f"move {running[0]['move_id']} of {running[0]['server']} runs: {running[0]['step']}"
    for reservation in _items(admin, "/v1/reservations", latest=False):
        if reservation["spec"]["ends_at"] is not None:
            return f"reservation {reservation['name']} ends at {reservation['spec']['ends_at']}"
    for path, of_it in (("/v1/simulations", "simulation"), ("/v1/plan-runs", "plan_run")):
        for one in _items(admin, path, latest=True):
            if one["status"] in ("queued", "running"):
                return f"{of_it} {one[of_it + '_id']} is {one['status']}"
    for one in _items(admin, "/v1/plan-executions", latest=True):
        if one["state"] not in ENDED:
            return f"execution {one['plan_execution_id']} is {one['state']}"
    waiting_spans = admin.get("/v1/telemetry")["waiting"]["spans"]
    if waiting_spans:
        return f"{waiting_spans} spans wait to be summed"
    for job in load_jobs(database)["jobs"]:
        if job["kind"] == "assess" and job["status"] != "failed":
            return f"job {job['job_id']} ({job['kind']} {job['subject']}) is {job['status']}"
    for region, after in asked.items():
        runs = admin.get("/v1/solve-runs", region=region, limit=20)["items"]
        ended = [run for run in runs if run["solve_run_id"] > after and run["status"] in ("committed", "unchanged")]
        if not ended:
            return f"{region} has not been solved since the faults ended"
        # A grant rests on the last solve. Only the next solve sees servers that failed since then.
        seen_at = max(datetime.fromisoformat(run["started_at"]) for run in ended)
        for event in _items(admin, f"/v1/unavailability-events?region={region}&open=true", latest=False):
            if datetime.fromisoformat(event["starts_at"]) >= seen_at:
                return f"{region} has not been solved since {event['scope_name']} was lost"
    for server in _items(admin, "/v1/servers", latest=False):
        if server["unavailability"] == "none" and server["current_reservation"] != server["target_reservation"]:
            return f"{server['name']} is in {server['current_reservation']}, not in {server['target_reservation']}"
    return ""
