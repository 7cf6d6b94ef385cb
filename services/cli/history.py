"""`plimsoll history`: show what a reservation asked for, was granted and held, and how long it was whole."""

from __future__ import annotations

from itertools import islice
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.durations import in_words
from services.cli.get import id_of
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, note, percent, plural, print_json, print_rows, say

_COLUMNS = {
    "FROM": "from_at",
    "UNTIL": "until_at",
    "READY": "ready",
    "WHY": "reason",
    "ASKED FOR": "capacity_rru",
    "GRANTED": "granted_rru",
    "HELD": "held_rru",
    "WITHOUT LARGEST MSB": "held_after_msb_loss_rru",
}


_DAYS = {"DAY": "day", "MOVES": "moves", "PREEMPTIONS": "preemptions"}


def history(
    reservation: Annotated[str | None, typer.Argument(help="the reservation, by name or id")] = None,
    region: Annotated[
        str | None, typer.Option("--region", "-r", help="the region of this name; without a reservation, all of it")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=90, metavar="N", help="of a region: the last N days")] = 30,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="intervals, at most")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a reservation asked for, was granted and held, newest first. Nothing changed within a line.

    The granted RRU were promised. They are less than those asked for only while a request waited. A dash: an earlier
    version did not keep them.

    With --region alone: what all its reservations asked for, were granted and lacked, and the moves of each day.
    """
    if reservation is None and region is None:
        raise typer.BadParameter("name a reservation, or a region (--region)")
    client = Client.connect()
    if reservation is None:
        assert region is not None
        _tell_region(client.get(f"/v1/regions/{quote(region, safe='')}/history", days=days), output)
        return
    identifier = id_of(client, Noun.RESERVATIONS, reservation, region=region)
    shown = client.get(f"/v1/reservations/{identifier}")
    name, status = shown["name"], shown["status"]
    found = list(islice(client.items(f"/v1/reservations/{identifier}/history"), limit + 1))
    items = found[:limit]
    if output is Output.JSON:
        whole = {name: status[name] for name in ("availability_30d", "watched_30d_s")}
        print_json({**whole, "items": items})
        return
    say(f"{name} {whole_in_words(status)}")
    asked_rru, granted_rru = status["capacity_rru"], status["granted_rru"]
    if granted_rru < asked_rru and status["phase"] not in ("scheduled", "deleted"):
        say(f"its request waits: {granted_rru:,.6g} of the {asked_rru:,.6g} RRU asked for are granted and so promised")
    print_rows(items, _COLUMNS)
    if len(found) > limit:
        note(f"Only {plural(limit, 'interval is', 'intervals are')} shown, and there are more: --limit N shows N.")


def _tell_region(found: Json, output: Output) -> None:
    """Print the past of a region: its worst moment, and its days."""
    if output is Output.JSON:
        print_json(found)
        return
    watched = [one for one in found["periods"] if one["missing_rru"] is not None]
    worst = max(watched, key=lambda one: float(one["missing_rru"]), default=None)
    if worst is None:
        say(f"{found['region']} was not watched yet, so what it held is not known")
    elif worst["missing_rru"] == 0:
        say(f"{found['region']} held all its promises since {found['begins_at']}")
    else:
        granted_rru = worst["granted_rru"]  # the records of an earlier version do not have it
        granted = "" if granted_rru is None else f"; {granted_rru:,.6g} RRU were granted"
        say(
            f"{found['region']} lacked most at {worst['begins_at']}: {worst['missing_rru']:,.4g} of "
            f"{worst['capacity_rru']:,.6g} RRU asked for, granted or not{granted}"
        )
    print_rows(found["days"], _DAYS)


def whole_in_words(status: Json) -> str:
    """Return how long a reservation was whole, as the end of a sentence about it."""
    share, watched_s = status["availability_30d"], status["watched_30d_s"]
    if share is None:
        return "was not watched yet, so how long it was whole is not known"
    return f"was whole for {percent(share)} of the {in_words(watched_s)} watched in the last 30 days"
