"""`plimsoll drain-schedule`: when racks may be drained so that no promise is broken."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.durations import DURATION, duration_s
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, plural, print_json, print_rows, say
from services.cli.requests import RegionOption

_SLOTS = {"FROM": "starts_at", "UNTIL": "ends_at", "MSB": "msb", "SERVERS": "servers", "RACKS": "racks"}
_UNPLACED = {"RACK": "rack", "REASON": "reason", "WHY": "message"}


def drain_schedule(
    region: RegionOption,
    rack: Annotated[list[str] | None, typer.Option(help="a rack to drain; repeatable")] = None,
    msb: Annotated[list[str] | None, typer.Option(help="an MSB of which to drain all racks; repeatable")] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:DOMAIN",
            help="a domain of any kind but datacenters, such as network_block:block-03, of which to drain all racks; "
            "repeatable",
        ),
    ] = None,
    each: Annotated[str, typer.Option(metavar=DURATION, help="how long one drain takes")] = "4h",
    within: Annotated[str, typer.Option(metavar=DURATION, help="the time in which all should be done")] = "7d",
    at: Annotated[
        str | None,
        typer.Option(metavar=MOMENT, help="the first drain's start, if not now; UTC unless the time has an offset"),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan drains of many racks: which of them at what time. Nothing is asked for; `plimsoll drain` asks."""
    found = Client.connect().get(
        f"/v1/regions/{quote(region, safe='')}/drain-schedule",
        rack=rack or None,
        msb=msb or None,
        domain=domain or None,
        hours_each=duration_s("--each", each) / 3600,
        within_hours=duration_s("--within", within) / 3600,
        starts_at=None if at is None else moment("--at", at),
    )
    if output is Output.JSON:
        print_json(found)
        return
    say(_in_words(found))
    if found["slots"]:
        print_rows(found["slots"], _SLOTS)
    if found["unplaced"]:
        print_rows(found["unplaced"], _UNPLACED)


def _in_words(found: Json) -> str:
    racks, slots = plural(found["racks"], "rack"), plural(len(found["slots"]), "slot")
    placed = found["racks"] - len(found["unplaced"])
    return f"{placed} of {racks} in {slots}, no promise broken" if placed else f"no time for any of {racks}"
