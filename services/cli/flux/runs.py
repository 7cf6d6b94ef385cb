"""`plimsoll flux run` and `flux plans`: request a plan from the service, and show plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure
from services.cli.output import Output, OutputOption, note, plural, print_document, print_json, print_rows, say, stderr

_OVER = ("done", "stale", "failed", "cancelled")
_IMPOSSIBLE = ("MissingInputs", "BadInputs", "NothingMeasured", "NoPlan")
GROWING_MAX = 10
"""Products with growth of traffic that are printed, those with the largest."""
PICTURES = ("presence", "pools", "residuals", "models")


def run(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="plan for review only: the plan does not become the target")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    wait: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="how long to wait for it")] = 3600.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan now in the service, and wait for the plan.

    Exit status: 0 a plan is made, or the run still goes on; 1 error; 2 the inputs allow no plan.
    """
    client = Client.connect()
    body: Json = {"dry_run": dry_run} | ({} if reason is None else {"reason": reason})
    asked = client.post("/v1/plan-runs", body)
    found = _wait(client, asked, wait)
    if output is Output.JSON:
        print_json(found)
    else:
        _tell(found)
    _require_plan(found)


def follow(client: Client, asked: Json, wait_s: float) -> Json:
    """Wait for a run, and return it. It may still go on. Raises CliFailure if it ends without a plan."""
    found = _wait(client, asked, wait_s)
    if found["status"] != "done":
        _tell(found)
    _require_plan(found)
    return found


def plans(
    plan: Annotated[int | None, typer.Argument(metavar="[ID]", help="default: all of them, latest first")] = None,
    changes: Annotated[bool, typer.Option("--changes", help="the changes of the first step, with reasons")] = False,
    dag: Annotated[bool, typer.Option("--dag", help="the actions of the first step")] = False,
    losses: Annotated[
        bool, typer.Option("--losses", help="services that would be too small after the loss of a region")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="write plan, models, DAG, changes and pictures to this folder")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one placement plan, or a list of them."""
    client = Client.connect()
    if plan is None:
        _list(client, output)
        return
    path = f"/v1/placement-plans/{plan}"
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for name in PICTURES:
            (save / f"{name}.svg").write_bytes(client.download(f"{path}/pictures/{name}.svg"))
        documents = {"plan": {"steps": client.get(path)["steps"]}}
        documents |= {name: client.get(f"{path}/{tail}") for name, tail in _DOCUMENTS.items()}
        for name, document in documents.items():
            (save / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
        say(f"written to {save}")
        return
    tail = "/changes" if changes else "/dag" if dag else "/region-losses" if losses else ""
    found = client.get(path + tail)
    if output is Output.JSON:
        print_json(found)
    elif changes:
        _tell_changes(found)
    elif dag:
        columns = {"ID": "id", "PHASE": "phase", "STARTS H": "start_h", "TAKES H": "estimate_h", "APPROVAL": "approval"}
        print_rows(found["nodes"], columns)
    elif losses:
        _tell_losses(found)
    else:
        print_document({name: value for name, value in found.items() if name != "steps"})


_DOCUMENTS = {"model": "models", "dag": "dag", "changes": "changes", "disaster": "region-losses"}


def _wait(client: Client, asked: Json, wait_s: float) -> Json:
    with stderr.status("plan run") as status:
        return client.wait(
            f"/v1/plan-runs/{asked['plan_run_id']}",
            lambda one: one["status"] in _OVER,
            s_max=wait_s,
            each=lambda one: status.update(f"plan run {one['plan_run_id']}: {one['progress'].get('phase', 'waits')}"),
        )


def _require_plan(found: Json) -> None:
    if found["status"] not in ("done", "queued", "running"):
        impossible = found["reason"] in _IMPOSSIBLE
        said = f"plan run {found['plan_run_id']} {found['status']}: {found['error'] or found['reason'] or ''}"
        raise CliFailure(said, status=EXIT_NOT_POSSIBLE if impossible else 1)


def _list(client: Client, output: Output) -> None:
    found = list(client.items("/v1/placement-plans"))
    columns = {
        "PLAN": "placement_plan_id",
        "PARENT": "parent_placement_plan_id",
        "TARGET": "target",
        "DEFICIT": "summary.deficit",
        "APPROVALS": "summary.approvals",
        "HOURS": "summary.estimate_h",
        "MADE": "created_at",
    }
    print_json(found) if output is Output.JSON else print_rows(found, columns)


def _tell(run: Json) -> None:
    if run["status"] != "done":
        note(f"plan run {run['plan_run_id']} is {run['status']}")
        return
    report = run["report"]
    low = report["models"]["low_confidence"]
    say(f"plan {run['placement_plan_id']}: {report['models']['services']} services, {len(low)} of low confidence")
    if report.get("unsummed"):
        note(f"{report['unsummed']:,} spans wait to be summed and are not in it: `plimsoll flux run` again in a minute")
    headings = ("step", "traffic_moved%", "upsized", "freed", "growth", "spare", "deficit")
    columns = {name.rstrip("%").replace("_", " ").upper(): name for name in headings}
    print_rows(report["plan"]["steps"], columns)
    for one in report["plan"].get("traffic_growth", ())[:GROWING_MAX]:
        say(one["message"])


_PLACES_SHOWN_MAX = 50
_PLACE = {name.upper(): name for name in ("service", "region", "lost", "needed", "planned", "now", "lacking")}


def _tell_losses(found: Json) -> None:
    """Print the places of load-tested services, tightest first, and those of others that lack most, by estimates."""
    places = sorted(found["places"], key=lambda one: one["planned"] - one["needed"])
    several = len({one["step"] for one in places}) > 1
    print_rows(places, ({"STEP": "step"} if several else {}) | _PLACE)
    lacking = {name: one for name, one in found["estimated"].items() if one["lacking"] > 0}
    estimated = f"{len(lacking)} of {plural(len(found['estimated']), 'service')} without load tests"
    say(f"{estimated} would be too small in the first step, by their models")
    rows = [one | {"confidence": lacking[one["service"]]["confidence"]} for one in found["estimated_places"]]
    print_rows(rows[:_PLACES_SHOWN_MAX], _PLACE | {"CONFIDENCE": "confidence"})
    if len(rows) > _PLACES_SHOWN_MAX:
        say(f"and {len(rows) - _PLACES_SHOWN_MAX} more places; --output json has them")


def _tell_changes(found: Json) -> None:
    rows = [
        {
            "SERVICE": one["service"],
            "REGION": one["region"],
            "BEFORE": one["before"],
            "AFTER": one["after"],
            "BECAUSE": ", ".join(f"{b['product']} {b['capacity']:+,.3g} {b['pulled_by']}" for b in one["because"]),
            "RESIDUAL": one["residual"],
            "LIMIT": one["limit"],
        }
        for one in found["changes"]
    ]
    print_rows(rows, {heading: heading for heading in rows[0]} if rows else {})
