"""`plimsoll flux override`: set bounds on the next plans, with a reason."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.moments import moment
from services.cli.output import Output, OutputOption, print_document, print_json, print_rows

override = typer.Typer(
    help="Bound a service or a product in a region in the next plans.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {
    "ID": "plan_override_id",
    "KIND": "kind",
    "OF": "subject",
    "REGION": "region",
    "LEAST": "least",
    "MOST": "most",
    "IN FORCE": "in_force",
    "UNTIL": "expires_at",
    "BY": "created_by",
    "WHY": "reason",
}


@override.command("set")
def set_override(
    region: Annotated[str, typer.Option(help="in this region")],
    reason: Annotated[str, typer.Option(help="why; shown wherever the override decides")],
    service: Annotated[str | None, typer.Option(help="bound this service's capacity")] = None,
    product: Annotated[str | None, typer.Option(help="bound this product's share of its traffic, 0 to 1")] = None,
    hardware_type: Annotated[str | None, typer.Option(help="capacity on this type; default: its own")] = None,
    least: Annotated[
        float | None, typer.Option(min=0.0, help="at least so much; a capacity above the supply becomes a deficit")
    ] = None,
    most: Annotated[
        float | None, typer.Option(min=0.0, help="at most so much; growth comes on top of a capacity")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="end of the override, in UTC, such as 2026-12-24T18:00")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check it without storing it")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set a bound. The platform refuses a bound that no plan could keep, and names the contradictions."""
    if (service is None) == (product is None):
        raise CliFailure("give either --service or --product")
    body: Json = {
        "kind": "capacity" if service is not None else "presence",
        "subject": service or product,
        "region": region,
        "hardware_type": hardware_type,
        "least": least,
        "most": most,
        "reason": reason,
        "expires_at": moment("--expires", expires),
    }
    found = Client.connect().post("/v1/plan-overrides", body, dry_run=dry_run or None)
    (print_json if output is Output.JSON else print_document)(found)


@override.command("list")
def list_overrides(
    all_: Annotated[bool, typer.Option("--all", help="also expired and withdrawn ones")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List overrides, latest first."""
    found = list(Client.connect().items("/v1/plan-overrides", in_force=None if all_ else True))
    print_json(found) if output is Output.JSON else print_rows(found, _COLUMNS)


@override.command("withdraw")
def withdraw(
    override_id: Annotated[int, typer.Argument(metavar="ID")],
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Withdraw an override. Later plans ignore it."""
    client = Client.connect()
    path = f"/v1/plan-overrides/{override_id}"
    found = client.post(f"{path}/withdraw", generation=client.get(path)["generation"], reason=reason)
    (print_json if output is Output.JSON else print_document)(found)
