"""`plimsoll flux telemetry`: show the telemetry that plans are based on."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, print_json, print_rows, say

_DAYS = ("day", "received", "attributed", "orphaned", "late", "duplicates", "rejected")


def telemetry(
    days: Annotated[int, typer.Option(min=1, help="number of latest days of spans")] = 7,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show received spans by day, and the range of usage and traffic."""
    found = Client.connect().get("/v1/telemetry", days=days)
    if output is Output.JSON:
        print_json(found)
        return
    print_rows(found["days"], {name.upper(): name for name in _DAYS})
    say(f"{found['waiting']['spans']:,} spans wait to be summed, at most {found['waiting']['spans_max']:,} may")
    for what in ("usage", "traffic"):
        say(f"{what}: {_reach(found[what])}")


def _reach(measured: Json) -> str:
    if not measured["series"]:
        return "nothing yet"
    return f"{measured['series']:,} series, {measured['first_hour_at']} to {measured['last_hour_at']}"
