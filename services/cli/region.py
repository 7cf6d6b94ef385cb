"""`plimsoll region`: show or change a region's solve period."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.durations import DURATION, duration_s, in_words
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, print_json, say, text_of

_DEFAULT = "default"


def region(
    name: Annotated[str, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")],
    solve_every: Annotated[
        str | None,
        typer.Option(metavar=DURATION, help="such as 30m or 2h, from 1m to 7d; `default`: the platform's own"),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change a region's solve period. A new period counts from now on."""
    client = Client.connect()
    path = f"/v1/regions/{quote(name, safe='')}/schedule"
    found = client.get(path)
    if solve_every is not None:
        body: Json = {"solve_every_s": None if solve_every == _DEFAULT else duration_s("--solve-every", solve_every)}
        body |= {} if reason is None else {"reason": reason}
        found = client.put(path, body, generation=found["generation"])
    elif reason is not None:
        raise CliFailure("--reason is for a change: name the period with --solve-every")
    if output is Output.JSON:
        print_json(found)
    else:
        say(f"{name} {schedule_in_words(found)}")


def schedule_in_words(schedule: Json) -> str:
    """Return a region's solve period and next solve, as the end of a sentence about the region."""
    whose = "by default" if schedule["solve_every_s"] is None else "as an operator chose"
    due = schedule["solve_due_at"]
    when = "its first solve waits for the scheduler" if due is None else f"the next solve is due at {text_of(due)}"
    return f"is solved every {in_words(schedule['period_s'])}, {whose}; {when}"
