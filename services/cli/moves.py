"""`plimsoll mover`, `moves`, `pause` and `resume`: control a region's mover."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, plural, print_document, print_json, say

app = typer.Typer(
    help="Handle moves that failed for good; `plimsoll get moves --where dead_letter=open` lists them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
MoveArgument = Annotated[int, typer.Argument(metavar="ID", help="the move's id")]
ReasonOption = Annotated[str, typer.Option(help="why; for the audit trail")]
RegionArgument = Annotated[str, typer.Argument(help="the region's name")]


@app.command()
def retry(move: MoveArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Let the server move again from its present state. End the event that reported the failure."""
    _act(move, "retry", reason, output)


@app.command()
def skip(move: MoveArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Skip the failed step after doing it by hand, and continue the move. End the event that reported the failure."""
    _act(move, "skip", reason, output)


@app.command()
def urgent(
    region: RegionArgument,
    reason: ReasonOption,
    servers: Annotated[list[str] | None, typer.Argument(metavar="SERVER", help="servers, by name")] = None,
    retirement: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="instead: all servers of this retirement")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let servers leave their reservation at once, where a plan sends them, though only its embedded buffer spares
    them.
    """
    body: Json = {"region": region, "reason": reason, "servers": servers or []}
    if retirement is not None:
        body["retirement_id"] = retirement
    found = Client.connect().post("/v1/urgent-departures", body)
    _tell(found, f"{plural(found['marked'], 'server')} may leave at once", output)


def pause(region: RegionArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Pause the moves of a region: no move starts and no step begins. Running steps end."""
    mover = Client.connect().post(f"/v1/movers/{quote(region, safe='')}/pause", {"reason": reason})
    _tell(mover, f"{region} is paused: {mover['paused_reason']}", output)


def resume(region: RegionArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Resume the moves of a paused region."""
    _tell(
        Client.connect().post(f"/v1/movers/{quote(region, safe='')}/resume", {"reason": reason}),
        f"{region} moves again",
        output,
    )


def mover(
    region: RegionArgument,
    moves: Annotated[int | None, typer.Option("--moves-max", min=1, metavar="N", help="moves at a time")] = None,
    msb_share: Annotated[
        float | None,
        typer.Option(
            "--msb-share-max",
            metavar="SHARE",
            help="share of an MSB's servers that may leave reservations at a time",
        ),
    ] = None,
    msb_moves: Annotated[
        int | None, typer.Option("--msb-moves-max", min=1, metavar="N", help="moves at a time in one MSB")
    ] = None,
    msb_starts: Annotated[
        int | None,
        typer.Option("--msb-starts-per-minute", min=1, metavar="N", help="moves that start in one MSB in any minute"),
    ] = None,
    loan: Annotated[
        float | None,
        typer.Option("--loan-s-max", min=60, metavar="S", help="seconds that a loan of a server may last"),
    ] = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="remove every bound that is not given here")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a region's mover, or set bounds on its moves. Omitted bounds stay."""
    client = Client.connect()
    path = f"/v1/movers/{quote(region, safe='')}"
    found = client.get(path)
    given = {
        "moves_max": moves,
        "msb_share_max": msb_share,
        "msb_moves_max": msb_moves,
        "msb_starts_per_minute": msb_starts,
        "loan_s_max": loan,
    }
    change = {name: value for name, value in given.items() if defaults or value is not None}
    if change:
        found = client.patch(path, change, generation=found["generation"])
    (print_json if output is Output.JSON else print_document)(found)


def _act(move_id: int, verb: str, reason: str, output: Output) -> None:
    move = Client.connect().post(f"/v1/moves/{move_id}/{verb}", {"reason": reason})
    _tell(
        move, f"move {move_id} of {move['server']}: {move['dead_letter']}, {move['status']} at {move['step']}", output
    )


def _tell(document: Json, sentence: str, output: Output) -> None:
    if output is Output.JSON:
        print_json(document)
    else:
        say(sentence)
