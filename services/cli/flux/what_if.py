"""`plimsoll flux what-if` and `flux apply`: plan for a changed world, and make such a plan the target."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from libs.domain.placement_what_if import NewRegion, PlacementWhatIf, ProductGrowth, SupplyChange
from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.flux.runs import follow
from services.cli.output import Output, OutputOption, note, print_json, print_rows, say

SHOWN_MAX = 20
_CAPACITY = {
    "STEP": "step",
    "SERVICE": "service",
    "TYPE": "hardware_type",
    "REGION": "region",
    "NOW": "now",
    "WITHOUT": "without",
    "WITH": "with",
}
_TRAFFIC = {
    "STEP": "step",
    "PRODUCT": "product",
    "REGION": "region",
    "NOW": "now%",
    "WITHOUT": "without%",
    "WITH": "with%",
}


def what_if(
    supply: Annotated[
        list[str] | None, typer.Option(metavar="REGION[/TYPE]=FACTOR", help="multiply supply; repeatable")
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="REGION/TYPE=AMOUNT", help="add supply, or take it; repeatable")
    ] = None,
    new_region: Annotated[
        list[str] | None, typer.Option(metavar="REGION/TYPE=AMOUNT", help="a new region's supply; repeatable")
    ] = None,
    growth: Annotated[
        list[str] | None,
        typer.Option(metavar="PRODUCT=GROWTH", help="0.2 is a fifth more traffic, -0.2 less; repeatable"),
    ] = None,
    lose: Annotated[list[str] | None, typer.Option(metavar="REGION", help="a lost region; repeatable")] = None,
    world: Annotated[
        Path | None, typer.Option(metavar="WORLD_DIR", help="plan from this folder, without a service", exists=True)
    ] = None,
    wait: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="how long to wait for the service")] = 3600.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan for a changed world, and show the difference. Nothing is kept unless `plimsoll flux apply` makes it the
    target.

    Exit status: 0 planned, even if something is not possible in full; 1 error; 2 no plan is possible.
    """
    asked = _asked(supply or [], add or [], new_region or [], growth or [], lose or [])
    if asked == PlacementWhatIf():
        raise CliFailure("change something: --supply, --add, --new-region, --growth or --lose")
    found = _offline(world, asked) if world is not None else _by_service(asked, wait)
    if output is Output.JSON:
        print_json(found)
        return
    for name, columns in (("capacity", _CAPACITY), ("traffic", _TRAFFIC)):
        rows = sorted(found[name], key=_difference, reverse=True)
        print_rows(rows[:SHOWN_MAX], columns)
        if len(rows) > SHOWN_MAX:
            note(f"{len(rows) - SHOWN_MAX} smaller differences of {name}: --output json has all")
    for one in found["impossible"][:SHOWN_MAX]:
        say(f"not possible: {one['message']}")
    if "placement_plan_id" in found:
        plan = found["placement_plan_id"]
        say(f"plan {plan} is for review: `plimsoll flux apply {plan} --reason ...` makes it the target")


def apply(
    plan: Annotated[int, typer.Argument(metavar="PLAN", help="a plan for review; see `plimsoll flux plans`")],
    reason: Annotated[str, typer.Option(help="why; for the audit trail")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a plan for review the target. It is then executed like any other, with the same approvals."""
    made = Client.connect().post(f"/v1/placement-plans/{plan}/apply", {"reason": reason})
    print_json(made) if output is Output.JSON else say(f"plan {made['placement_plan_id']} is the target")


def _by_service(asked: PlacementWhatIf, wait_s: float) -> Json:
    client = Client.connect()
    run = follow(client, client.post("/v1/plan-runs", {"what_if": asdict(asked)}), wait_s)
    if run["status"] != "done":
        return {"capacity": [], "traffic": [], "impossible": [], "plan_run_id": run["plan_run_id"]}
    plan = run["placement_plan_id"]
    return client.get(f"/v1/placement-plans/{plan}/what-if") | {"placement_plan_id": plan}


def _offline(world: Path, asked: PlacementWhatIf) -> Json:
    from libs.flux.planning import plan_world
    from libs.flux.report.what_if import difference_document
    from libs.flux.what_if import changed_world
    from services.cli.flux.offline import failing, make_plan

    with failing():
        before = make_plan(world)
        after = plan_world(*changed_world(before.words, before.models, before.inputs, asked))
    return {"asked": asdict(asked), **difference_document(before, after)}


def _asked(supply: list[str], add: list[str], new: list[str], growth: list[str], lose: list[str]) -> PlacementWhatIf:
    changes = [SupplyChange(region=r, hardware_type=h, factor=f) for r, h, f in _of("--supply", supply, typed=False)]
    changes += [SupplyChange(region=r, hardware_type=h, add=a) for r, h, a in _of("--add", add)]
    regions: dict[str, dict[str, float]] = {}
    for region, hardware_type, amount in _of("--new-region", new):
        regions.setdefault(region, {})[str(hardware_type)] = amount
    return PlacementWhatIf(
        regions=tuple(NewRegion(region=name, supply=held) for name, held in regions.items()),
        supply=tuple(changes),
        growth=tuple(ProductGrowth(product=p, growth=g) for p, g in _numbered("--growth", growth)),
        lost=tuple(lose),
    )


def _of(option: str, given: list[str], *, typed: bool = True) -> list[tuple[str, str | None, float]]:
    found = []
    for name, amount in _numbered(option, given):
        region, _, hardware_type = name.partition("/")
        if typed and not hardware_type:
            raise CliFailure(f"{option} {name}={amount:g}: name a hardware type, such as {region}/compute")
        found.append((region, hardware_type or None, amount))
    return found


def _numbered(option: str, given: list[str]) -> list[tuple[str, float]]:
    found = []
    for one in given:
        name, _, text = one.rpartition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not name or not math.isfinite(number):
            raise CliFailure(f"{option} {one} is not NAME=NUMBER")
        found.append((name, number))
    return found


def _difference(one: Json) -> float:
    difference: float = abs(one["with"] - (one["without"] or 0.0))
    return difference
