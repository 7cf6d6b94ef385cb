"""`plimsoll flux names`: show and forget the names of services and series that each token brought."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client
from services.cli.moments import moment
from services.cli.output import Output, OutputOption, plural, print_json, print_rows, say

names = typer.Typer(
    help="Count the names of services and series by token, and forget those of one token.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {"TOKEN": "named_by", "SERVICES": "services", "USAGE": "usage_series", "TRAFFIC": "traffic_series"}


@names.command("list")
def list_names(output: OutputOption = Output.TABLE) -> None:
    """Show the number of names per token, and the limits."""
    found = Client.connect().get("/v1/telemetry/names")
    if output is Output.JSON:
        print_json(found)
        return
    print_rows(found["tokens"], _COLUMNS)
    say(f"at most {found['services_max']:,} services, and {found['series_max']:,} series of usage and of traffic")


@names.command("forget")
def forget(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="its name, as in `plimsoll flux names list`")],
    since: Annotated[
        str | None, typer.Option(help="only names brought from then on, in UTC, such as 2026-12-24T18:00")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Forget the names of a token, and every measurement under them. Revoke a harmful token first."""
    forgotten = Client.connect().delete(
        "/v1/telemetry/names", named_by=token, since=moment("--since", since), reason=reason
    )
    assert forgotten is not None
    if output is Output.JSON:
        print_json(forgotten)
        return
    usage, traffic = forgotten["usage_series"], forgotten["traffic_series"]
    say(f"forgot {plural(forgotten['services'], 'service')}, and {usage:,} series of usage and {traffic:,} of traffic")
