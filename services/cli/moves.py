"""`plimsoll moves`, `plimsoll pause` and `plimsoll resume`: what operators do about a region's mover."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, print_json, stdout

app = typer.Typer(
    help="Deal with moves that failed for good; `plimsoll get moves --where dead_letter=open` lists them.",
    no_args_is_help=True,
)
MoveArgument = Annotated[int, typer.Argument(metavar="ID", help="the move's id")]
ReasonOption = Annotated[str, typer.Option(help="why; it is kept in the audit trail")]
RegionArgument = Annotated[str, typer.Argument(help="the region's name")]


@app.command()
def retry(move: MoveArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Let the server move again, from how it stands then. Ends the event that reported it."""
    _act(move, "retry", reason, output)


@app.command()
def skip(move: MoveArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """The step that failed was done by hand: go on behind it. Ends the event that reported the server."""
    _act(move, "skip", reason, output)


def pause(region: RegionArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Let no move start and no step begin in a region; steps under way end."""
    mover = Client.connect().post(f"/v1/movers/{region}/pause", {"reason": reason})
    _tell(mover, f"{region} is paused: {mover['paused_reason']}", output)


def resume(region: RegionArgument, reason: ReasonOption, output: OutputOption = Output.TABLE) -> None:
    """Let a paused region's moves go on."""
    _tell(Client.connect().post(f"/v1/movers/{region}/resume", {"reason": reason}), f"{region} moves again", output)


def _act(move_id: int, verb: str, reason: str, output: Output) -> None:
    move = Client.connect().post(f"/v1/moves/{move_id}/{verb}", {"reason": reason})
    _tell(
        move, f"move {move_id} of {move['server']}: {move['dead_letter']}, {move['status']} at {move['step']}", output
    )


def _tell(document: Json, sentence: str, output: Output) -> None:
    if output is Output.JSON:
        print_json(document)
    else:
        stdout.print(sentence, highlight=False, markup=False, soft_wrap=True)
