"""`plimsoll decommission` and `plimsoll refresh`: announce places and servers that leave or change their type."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.retirement import RetirementKind, RetirementScope
from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, print_json, say
from services.cli.requests import RegionOption

ScopeArgument = Annotated[RetirementScope, typer.Argument(help="how much of the region")]
NameArgument = Annotated[str, typer.Argument(help="which one")]
AtOption = Annotated[
    str | None,
    typer.Option("--at", metavar=MOMENT, help="when it must be empty; UTC unless the time has an offset"),
]
ReasonOption = Annotated[str, typer.Option(help="why; people read it")]
CancelOption = Annotated[bool, typer.Option("--cancel", help="cancel the announcement; it stays")]


def decommission(
    scope: ScopeArgument,
    name: NameArgument,
    region: RegionOption,
    at: AtOption = None,
    reason: ReasonOption = "decommission",
    cancel: CancelOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Announce that a place or server leaves the fleet. Solves empty it first. Until it is empty, it stays."""
    _retire(RetirementKind.DECOMMISSION, scope, name, region, {"reason": reason}, at, cancel, output)


def refresh(
    scope: ScopeArgument,
    name: NameArgument,
    region: RegionOption,
    to_type: Annotated[str | None, typer.Option("--to-type", help="the hardware type that comes back")] = None,
    at: AtOption = None,
    back: Annotated[
        str | None, typer.Option("--back", metavar=MOMENT, help="when it comes back; default: at once")
    ] = None,
    reason: ReasonOption = "hardware refresh",
    cancel: CancelOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Announce that a place or server becomes another hardware type. Solves empty it first."""
    body: Json = {"reason": reason, "to_hardware_type": to_type}
    if back is not None:
        body["back_at"] = moment("--back", back)
    if to_type is None and not cancel:
        raise CliFailure("name the hardware type that comes back with --to-type")
    _retire(RetirementKind.REFRESH, scope, name, region, body, at, cancel, output)


def _retire(
    kind: RetirementKind,
    scope: RetirementScope,
    name: str,
    region: str,
    body: Json,
    at: str | None,
    cancel: bool,
    output: Output,
) -> None:
    client = Client.connect()
    if cancel:
        found = [
            one
            for one in client.items("/v1/retirements", region=region, status="announced")
            if (one["scope"], one["scope_name"], one["kind"]) == (scope, name, kind)
        ]
        if not found:
            raise CliFailure(f"no {kind} of {scope} {name} is announced")
        path = f"/v1/retirements/{found[0]['retirement_id']}/cancel"
        retirement = client.post(path, generation=found[0]["generation"])
    else:
        if at is None:
            raise CliFailure("give its date with --at, such as --at 2027-01-31T08:00")
        body |= {"region": region, "scope": scope, "scope_name": name, "kind": kind, "due_at": moment("--at", at)}
        retirement = client.post("/v1/retirements", body)
    if output is Output.JSON:
        print_json(retirement)
    else:
        said = f"{kind} {retirement['retirement_id']} of {scope} {name}: {retirement['condition']}"
        say(said)
        say(retirement["message"])
