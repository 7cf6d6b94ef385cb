"""The `plimsoll` command: one file per subcommand, registered here."""

from __future__ import annotations

import sys

import typer

from services.cli import token
from services.cli.drain import drain
from services.cli.failure import CliFailure
from services.cli.get import get
from services.cli.output import stderr
from services.cli.plan import plan
from services.cli.regions import export_region, import_region
from services.cli.requests import create, delete, resize
from services.cli.solve import solve
from services.cli.up import up

app = typer.Typer(
    name="plimsoll",
    help="Guaranteed capacity that survives the loss of a power domain.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in (up, get, create, resize, delete, drain, plan, solve):
    app.command()(command)
app.command("import")(import_region)
app.command("export")(export_region)
app.add_typer(token.app, name="token")


def main() -> None:
    """Entry point of the console script. Exit status: 0 done, 1 error, 2 not possible as asked."""
    try:
        app()
    except CliFailure as failure:
        stderr.print(f"[red]error:[/red] {failure}", highlight=False, soft_wrap=True)
        sys.exit(failure.status)
