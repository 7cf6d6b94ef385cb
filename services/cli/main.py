"""The `plimsoll` command: one file per subcommand, registered here."""

from __future__ import annotations

import typer

from services.cli.solve import solve

app = typer.Typer(
    name="plimsoll",
    help="Guaranteed capacity that survives the loss of a power domain.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def plimsoll() -> None:
    """Guaranteed capacity that survives the loss of a power domain."""


app.command()(solve)


def main() -> None:
    """Entry point of the console script."""
    app()
