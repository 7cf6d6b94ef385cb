"""The `plimsoll` command: one file per subcommand, imported when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from services.cli.failure import CliFailure
from services.cli.output import stderr

COMMANDS = {
    "demo": "services.cli.demo.command:demo",
    "up": "services.cli.up:up",
    "import": "services.cli.regions:import_region",
    "export": "services.cli.regions:export_region",
    "convert": "services.cli.sources:convert",
    "get": "services.cli.get:get",
    "create": "services.cli.requests:create",
    "resize": "services.cli.requests:resize",
    "delete": "services.cli.requests:delete",
    "explain": "services.cli.explain:explain",
    "amend": "services.cli.requests:amend",
    "withdraw": "services.cli.requests:withdraw",
    "approve": "services.cli.approvals:approve",
    "reject": "services.cli.approvals:reject",
    "limits": "services.cli.approvals:limits",
    "quota": "services.cli.quota:quota",
    "plan": "services.cli.plan:plan",
    "simulate": "services.cli.simulate:simulate",
    "drain": "services.cli.drain:drain",
    "decommission": "services.cli.retire:decommission",
    "refresh": "services.cli.retire:refresh",
    "moves": "services.cli.moves:app",
    "pause": "services.cli.moves:pause",
    "resume": "services.cli.moves:resume",
    "solve": "services.cli.solve:solve",
    "flux": "services.cli.flux.command:app",
    "token": "services.cli.token:app",
}
"""In the order in which --help lists them. Looking at a server must not wait for a solver to be imported."""


class LazyCommands(TyperGroup):
    """A group whose commands are imported by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All of them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them; None where there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found = getattr(import_module(module), name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False)
            alone.command(cmd_name)(found)
            found = alone
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command


app = typer.Typer(
    name="plimsoll", cls=LazyCommands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


@app.callback()
def plimsoll() -> None:
    """Guaranteed capacity that survives the loss of a power domain."""


def main() -> None:
    """Entry point of the console script. Exit status: 0 done, 1 error, 2 not possible as asked."""
    try:
        app()
    except CliFailure as failure:
        stderr.print("[red]error:[/red]", end=" ")
        stderr.print(str(failure), highlight=False, markup=False, soft_wrap=True)
        sys.exit(failure.status)


if __name__ == "__main__":
    main()
