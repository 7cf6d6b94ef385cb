"""`plimsoll freeze`: the calendar of times in which no action of a plan begins."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.freeze import FreezeScope
from services.cli.client import Client, Json
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, print_json, print_rows, say

app = typer.Typer(
    help="Keep the calendar of freezes: times in which no action of a plan begins.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_FREEZES = "/v1/freezes"
_COLUMNS = {
    "ID": "freeze_id",
    "ON": "on",
    "SCOPE": "scope",
    "NAME": "name",
    "FROM": "starts_at",
    "TO": "ends_at",
    "ENDED": "ended_at",
    "BY": "created_by",
    "WHY": "reason",
}
ReasonOption = Annotated[str, typer.Option(help="why; for the audit trail")]


@app.command()
def add(
    start: Annotated[str, typer.Option("--from", metavar=MOMENT, help="from this time on")],
    end: Annotated[str, typer.Option("--to", metavar=MOMENT, help="until this time")],
    reason: ReasonOption,
    region: Annotated[str | None, typer.Option("--region", "-r", help="hold this region")] = None,
    service: Annotated[str | None, typer.Option(help="hold resizes of this service")] = None,
    product: Annotated[str | None, typer.Option(help="hold shifts of this product")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Enter a freeze; without a region, service or product it holds everything. Freezes may overlap."""
    named = {FreezeScope.REGION: region, FreezeScope.SERVICE: service, FreezeScope.PRODUCT: product}
    given = {scope: name for scope, name in named.items() if name is not None}
    if len(given) > 1:
        raise typer.BadParameter("name a region, a service or a product; enter a freeze for each")
    scope, name = next(iter(given.items()), (FreezeScope.ALL, None))
    body: Json = {"scope": scope, "name": name, "reason": reason}
    body |= {"starts_at": moment("--from", start), "ends_at": moment("--to", end)}
    made = Client.connect().post(_FREEZES, body)
    text = f"freeze {made['freeze_id']} holds {name or 'everything'} from {made['starts_at']} to {made['ends_at']}"
    print_json(made) if output is Output.JSON else say(text)


@app.command("list")
def list_freezes(
    all_: Annotated[bool, typer.Option("--all", help="also those that have ended")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List freezes, latest first."""
    found = list(Client.connect().items(_FREEZES, open=None if all_ else "true"))
    print_json(found) if output is Output.JSON else print_rows(found, _COLUMNS)


@app.command()
def end(
    freeze: Annotated[int, typer.Argument(metavar="ID", help="as in `plimsoll freeze list`")],
    reason: ReasonOption,
    output: OutputOption = Output.TABLE,
) -> None:
    """End a freeze early, or call it off before it starts."""
    client = Client.connect()
    path = f"{_FREEZES}/{freeze}"
    ended = client.post(f"{path}/end", {"reason": reason}, generation=client.get(path)["generation"])
    print_json(ended) if output is Output.JSON else say(f"freeze {freeze} has ended")
