"""The `plimsoll` command: one file per subcommand, imported when it is asked for."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from services.cli.failure import EXIT_ERROR, CliFailure
from services.cli.output import stderr

GROUPS = {
    "Look": {
        "get": "services.cli.get:get",
        "status": "services.cli.status:status",
        "explain": "services.cli.explain:explain",
        "simulate": "services.cli.simulate:simulate",
    },
    "Ask for capacity": {
        "create": "services.cli.requests:create",
        "resize": "services.cli.requests:resize",
        "delete": "services.cli.requests:delete",
        "amend": "services.cli.requests:amend",
        "withdraw": "services.cli.requests:withdraw",
    },
    "Decide what may be asked for, and who asks": {
        "approve": "services.cli.approvals:approve",
        "reject": "services.cli.approvals:reject",
        "limits": "services.cli.approvals:limits",
        "quota": "services.cli.quota:quota",
        "token": "services.cli.token:app",
    },
    "Run a region": {
        "import": "services.cli.regions:import_region",
        "export": "services.cli.regions:export_region",
        "plan": "services.cli.plan:plan",
        "policy": "services.cli.policy:policy",
        "drain": "services.cli.drain:drain",
        "decommission": "services.cli.retire:decommission",
        "refresh": "services.cli.retire:refresh",
        "mover": "services.cli.moves:mover",
        "moves": "services.cli.moves:app",
        "pause": "services.cli.moves:pause",
        "resume": "services.cli.moves:resume",
    },
    "On this machine, and from files": {
        "demo": "services.cli.demo.command:demo",
        "up": "services.cli.up:up",
        "solve": "services.cli.solve:solve",
        "flux": "services.cli.flux.command:app",
        "convert": "services.cli.sources:convert",
    },
}
"""Heading of --help -> command -> where it is. Looking at a server must not wait for a solver to be imported."""
COMMANDS = {name: path for commands in GROUPS.values() for name, path in commands.items()}


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
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(cmd_name)(found)
            found = alone
        command = typer.main.get_command(found)
        assert isinstance(command, TyperCommand | TyperGroup)
        command.name = cmd_name
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options stand behind the command; a command that there is not is answered with the nearest."""
        first = args[0] if args else ""
        if first.startswith("-") and first != "--help":
            ctx.fail(f"{first} stands behind the command: plimsoll get servers --output json")
        if first and first not in COMMANDS and first != "--help":
            near = get_close_matches(first, COMMANDS, n=1)
            ctx.fail(f"no command is called {first}" + (f": did you mean {near[0]}?" if near else ""))
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of --help: by group, a sentence each."""
        for group, commands in GROUPS.items():
            with formatter.section(group):
                told = {name: _first_sentence(self.get_command(ctx, name).help or "") for name in commands}
                formatter.write_dl(list(told.items()))


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].partition("\n")[0].rstrip(".") + "."


app = typer.Typer(
    name="plimsoll",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def plimsoll() -> None:
    """Guaranteed capacity that survives the loss of a power domain.

    Exit status: 0 done, 1 an error, 2 not possible as asked.
    """


_PARSERS_STATUS = 2
"""What argument parsers exit with where they do not understand; ours says something else by it."""


def main() -> None:
    """Entry point of the console script. Exit status: 0 done, 1 error, 2 not possible as asked."""
    try:
        app()
    except CliFailure as failure:
        stderr.print(Text.assemble(("error:", "red"), f" {failure}"), soft_wrap=not stderr.is_terminal)
        sys.exit(failure.status)
    except SystemExit as ended:
        if ended.code == _PARSERS_STATUS:
            sys.exit(EXIT_ERROR)
        raise


if __name__ == "__main__":
    main()
