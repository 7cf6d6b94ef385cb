"""`plimsoll plan`: solve a region now, and show the result."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, percent, print_document, print_json, stderr


def plan(
    region: Annotated[str, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")],
    wait: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="how long to wait for the end of the run")
    ] = 3600.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Solve a region now, before its next scheduled solve, and follow the run. A better plan is committed."""
    client = Client.connect()
    asked = client.post("/v1/solve-runs", {"region": region})
    with stderr.status(f"{region}: waiting for a worker") as status:
        run = _await_run(client, asked, status.update, wait)
    if output is Output.JSON:
        print_json(run)
    else:
        print_document(_short(run))
    if run["status"] == "failed":
        raise CliFailure(f"the solve failed: {run['error']}")


def _await_run(client: Client, asked: Json, say: Any, wait_s: float) -> Json:
    """Return the run that answers `asked` after its end. Raises CliFailure if the end takes longer than `wait_s`."""
    after = asked["after_solve_run_id"] or 0

    def tell(page: Json) -> None:
        for run in page["items"]:
            if run["solve_run_id"] > after and run["status"] == "running":
                progress = run["progress"]
                gap = f", gap {progress['gap']:.2%}" if "gap" in progress else ""
                say(f"{run['region']}: run {run['solve_run_id']}, {progress.get('phase', 'loading')}{gap}")

    page = client.wait(
        f"/v1/solve-runs?region={asked['region']}&limit=1",
        lambda page: any(run["solve_run_id"] > after and run["status"] != "running" for run in page["items"]),
        s_max=wait_s,
        each=tell,
    )
    for run in page["items"]:
        if run["solve_run_id"] > after and run["status"] != "running":
            found: Json = run
            return found
    raise CliFailure(f"the run has not ended after {wait_s:g} s: see `plimsoll get solve-runs`")


_SHOWN = (
    "solve_s",
    "total",
    "total_without_rack",
    "lower_bound",
    "gap",
    "penalty",
    "stopped_by",
    "shortfall_rru",
    "changes",
    "left_alone",
    "dropped",
    "churn",
)


_ROUNDING = 1e-6
"""A smaller penalty comes from sums of floats, and nothing is missing."""


def _short(run: Json) -> Json:
    report = run["report"] or {}
    figures = {name: report[name] for name in _SHOWN if name in report}
    within = " in the domains that it chose" if report.get("chosen_domains") else ""
    if figures.get("gap") is not None:
        figures["gap"] = f"at most {percent(figures['gap'])} above the best possible{within}"
    if figures.get("penalty", 0.0) > _ROUNDING:
        unavoidable = report.get("least_penalty", 0.0)
        figures["penalty"] = f"{figures['penalty']:,.6g} of the total, for missing capacity or affinity; "
        figures["penalty"] += f"every plan{within} has at least {unavoidable:,.6g}"
    elif "penalty" in figures:
        figures["penalty"] = 0.0
    if "as_solved" in report:
        figures["as_solved"] = report["as_solved"]["message"]
    if "waves" in report:
        figures["waves"] = report["waves"]["message"]
    known = {name: run[name] for name in ("solve_run_id", "region", "status", "plan_id", "error", "bundle")}
    return {**{name: value for name, value in known.items() if value is not None}, "report": figures}
