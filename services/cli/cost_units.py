"""`plimsoll cost-units`: show or change what a server of a hardware type counts toward quotas."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client
from services.cli.output import Output, OutputOption, print_document, print_json


def cost_units(
    hardware_type: Annotated[str, typer.Argument(metavar="TYPE", help="the hardware type")],
    units: Annotated[float | None, typer.Option("--set", metavar="UNITS", help="set them, in all regions")] = None,
    default: Annotated[bool, typer.Option("--default", help="count as if never set")] = False,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change what a server of a type counts toward quotas."""
    if default and units is not None:
        raise typer.BadParameter("give either --set or --default")
    client = Client.connect()
    path = f"/v1/hardware-types/{quote(hardware_type, safe='')}"
    found = client.get(path)
    if default or units is not None:
        body = {"cost_units": units} | ({} if reason is None else {"reason": reason})
        found = client.put(f"{path}/cost-units", body, generation=found["generation"])
    (print_json if output is Output.JSON else print_document)(found)
