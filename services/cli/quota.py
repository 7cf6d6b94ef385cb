"""`plimsoll quota`: show or change an owner's limit of cost units in a region."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, print_document, print_json
from services.cli.requests import RegionOption


def quota(
    owner: Annotated[str, typer.Argument(help="whose")],
    region: RegionOption,
    limit: Annotated[float | None, typer.Option(min=0.0, metavar="UNITS", help="set it, in cost units")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="remove the limit")] = False,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show an owner's limit and use in cost units, or change the limit."""
    if lift and limit is not None:
        raise typer.BadParameter("give either --limit or --lift")
    client = Client.connect()
    path = f"/v1/quotas/{quote(region, safe='')}/{quote(owner, safe='')}"
    found: Json | None = client.get(path)
    assert found is not None
    if limit is not None:
        body = {"limit_cost_units": limit} | ({} if reason is None else {"reason": reason})
        found = client.put(path, body, generation=found["generation"])
    elif lift:
        found = client.delete(path, generation=found["generation"], reason=reason)
    assert found is not None
    (print_json if output is Output.JSON else print_document)(found)
