"""`plimsoll rollout`: roll out another policy of a region in stages, watch it, and take it back."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, plural, print_document, print_json, print_rows, say, text_of
from services.cli.policy import settings

_SHOWN_MAX = 10
RegionArgument = Annotated[str, typer.Argument(help="the region's name")]
RolloutOption = Annotated[
    int | None, typer.Option("--rollout", metavar="ID", help="an earlier roll-out; omitted: the latest")
]
WhyOption = Annotated[str, typer.Option("--reason", help="why; for the audit trail, and for the approver")]

app = typer.Typer(
    help="Roll out another policy of a region: in shadow, on a canary, everywhere; and take it back.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def start(
    region: RegionArgument,
    change: Annotated[list[str], typer.Option("--set", metavar="NAME=VALUE", help="such as buffer_cost=8; repeatable")],
    reason: WhyOption,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start a roll-out: each solve of the region is from now on solved with the new policy too, and changes nothing."""
    client = Client.connect()
    generation = client.get(f"/v1/regions/{quote(region, safe='')}")["generation"]
    body = {"region": region, "policy": settings(change, "--set"), "reason": reason}
    _print(client.post("/v1/policy-rollouts", body, generation=generation), output)


@app.command()
def advance(
    region: RegionArgument,
    reason: WhyOption,
    share: Annotated[
        float | None, typer.Option(help="share of the reservations in the canary, such as 0.1; omitted: all")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for the next stage: a canary, a larger one, or all reservations. It waits for an approval."""
    found = _command(region, "advance", {"reason": reason, "share": share})
    if output is Output.JSON:
        print_json(found)
        return
    name = found["approval_id"]
    say(f"{region}: nothing is changed yet. It waits for an approval: `plimsoll approve {name} --reason ...`.")


@app.command()
def resume(region: RegionArgument, reason: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Accept the findings that hold the roll-out. It stays in its stage."""
    _print(_command(region, "resume", {"reason": reason}), output)


@app.command()
def back(
    region: RegionArgument,
    reason: WhyOption,
    rollout: RolloutOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take the roll-out back, from any stage and at once: the next solve has the policy from before it. An earlier
    one goes back too, if no field of it was changed since.
    """
    _print(_command(region, "back", {"reason": reason}, rollout), output)


@app.command()
def show(region: RegionArgument, rollout: RolloutOption = None, output: OutputOption = Output.TABLE) -> None:
    """Show a roll-out of the region, and its latest comparisons with real solves."""
    client = Client.connect()
    found = _find(client, region, rollout)
    path = f"/v1/policy-rollouts/{found['policy_rollout_id']}/comparisons"
    compared = client.get(f"{path}?limit={_SHOWN_MAX}")["items"]
    if output is Output.JSON:
        print_json({**found, "comparisons": compared})
        return
    _print(found, output)
    if compared:
        print_rows(
            [_row(one) for one in compared],
            {
                "SOLVE": "solve_run_id",
                "STAGE": "stage",
                "STATUS": "status",
                "COST": "cost",
                "DIFFERENT": "different",
                "IN USE": "in_use",
                "IDLE": "idle",
                "SHORT": "short",
                "SECONDS": "seconds",
                "MIB": "memory",
            },
        )
        say("Each pair is the real solve, then the shadow solve; costs are at the old prices.")


def _find(client: Client, region: str, number: int | None) -> Json:
    """Return a roll-out of the region by its id, or the latest one. Raises CliFailure."""
    if number is not None:
        one = client.get(f"/v1/policy-rollouts/{number}")
        if one["region"] != region:
            raise CliFailure(f"roll-out {number} is of {one['region']}, and not of {region}")
        return one
    found: list[Json] = client.get(f"/v1/policy-rollouts?region={quote(region, safe='')}&limit=1")["items"]
    if not found:
        raise CliFailure(f"{region} has had no roll-out: begin one with `plimsoll rollout start`")
    return found[0]


def _command(region: str, verb: str, body: Json, number: int | None = None) -> Json:
    client = Client.connect()
    rollout = _find(client, region, number)
    path = f"/v1/policy-rollouts/{rollout['policy_rollout_id']}/{verb}"
    return client.post(path, body, generation=rollout["generation"])


def _print(rollout: Json, output: Output) -> None:
    if output is Output.JSON:
        print_json(rollout)
        return
    print_document(
        {
            "rollout": rollout["policy_rollout_id"],
            "stage": rollout["stage"],
            "share": rollout["share"],
            "change": {name: f"{rollout['before'][name]} -> {value}" for name, value in rollout["change"].items()},
            "only_at_all": rollout["only_at_all"],
            "compared": plural(rollout["compared"], "solve"),
            "held": "; ".join(one["message"] for one in rollout["held"]) or "no",
            "reason": rollout["reason"],
        }
    )


def _row(one: Json) -> Json:
    row: Json = {name: one[name] for name in ("solve_run_id", "stage", "status")}
    report = one["report"]
    if report is None:
        return row
    plans, solves = report["at_old_prices"], report["solve"]
    pairs = {"cost": "total", "in_use": "moved_in_use", "idle": "moved_idle", "short": "shortfall_rru"}
    row |= {name: _pair(plans["real"][term], plans["shadow"][term]) for name, term in pairs.items()}
    figures = {"seconds": "solve_s", "memory": "peak_mib"}
    row |= {name: _pair(solves["real"][figure], solves["shadow"][figure]) for name, figure in figures.items()}
    return {**row, "different": report["bound_differently"]}


def _pair(real: float, shadow: float) -> str:
    return f"{text_of(real)} / {text_of(shadow)}"
