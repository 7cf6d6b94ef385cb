"""`plimsoll uplinks`: show what racks send, and set the limits of their uplinks."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from services.cli.client import Client, named_by_options
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, plural, print_json, print_rows, say

app = typer.Typer(
    help="Show what racks send, and set the limits of their uplinks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {"RACK": "rack", "LIMIT GBIT/S": "limit_gbit", "NOW": "current_gbit", "PLANNED": "target_gbit"}
_SHOWN_MAX = 20
Region = Annotated[str, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")]


@app.command()
def show(region: Region, output: OutputOption = Output.TABLE) -> None:
    """Show the racks that send most against their limits, now and once the targets are reached."""
    _print(Client.connect().get(_path(region)), output)


@app.command()
def limit(
    region: Region,
    rack: Annotated[
        list[str] | None, typer.Argument(help="names of racks; without one, all racks of the region")
    ] = None,
    gbit: Annotated[float | None, typer.Option(metavar="GBIT", help="Gbit/s that each of them may send")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="set no limit on these racks")] = False,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set or lift the limits of racks. With names, the other racks of the region keep theirs."""
    if lift == (gbit is not None):
        raise typer.BadParameter("give either --lift, or --gbit")
    client = Client.connect()
    found = client.get(_path(region))
    limits = found["limits"] if rack else {}
    missing = [name for name in rack or () if lift and name not in limits]
    if missing:
        raise CliFailure(f"rack {missing[0]} of {region} has no limit to lift")
    named = dict.fromkeys(rack or (), gbit)
    body: dict[str, Any] = {"limits": {name: one for name, one in (limits | named).items() if one is not None}}
    body |= {} if rack or lift else {"others_gbit": gbit}
    body |= {} if reason is None else {"reason": reason}
    with named_by_options({"others_gbit": "--gbit"} | {f"limits.{name}": f"--gbit of {name}" for name in named}):
        set_limits = client.put(_path(region), body, generation=found["generation"])
    _print(set_limits, output)


def _path(region: str) -> str:
    return f"/v1/regions/{quote(region, safe='')}/uplinks"


def _print(found: Any, output: Output) -> None:
    if output is Output.JSON:
        print_json(found)
        return
    print_rows(found["fullest"][:_SHOWN_MAX], _COLUMNS)
    say(
        f"{plural(len(found['limits']), 'rack')} with a limit, {found['racks_above']:,} above it by targets; "
        f"{found['current_above_gbit']:,.1f} Gbit/s above limits now, {found['target_above_gbit']:,.1f} by targets"
    )
