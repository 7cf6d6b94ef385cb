"""The `plimsoll` command: one file per subcommand, imported when it is asked for."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from services.cli.failure import EXIT_ERROR, CliFailure
from services.cli.lazy import Commands, lazy_group
from services.cli.output import stderr

GROUPS: dict[str, Commands] = {
    "Look": {
        "get": (
            "services.cli.get:get",
            "Show one thing, or a list of them.",
        ),
        "status": (
            "services.cli.status:status",
            "Show how a region stands: capacity, servers by type, what is amiss, and what waits for a person.",
        ),
        "explain": (
            "services.cli.explain:explain",
            "Say why: what it needs, what it has, what decides, and what the last solve did for it.",
        ),
        "simulate": (
            "services.cli.simulate:simulate",
            "Solve the region as it would be and show the difference.",
        ),
    },
    "Ask for capacity": {
        "create": (
            "services.cli.requests:create",
            "Ask for a reservation: so many RRU (or servers) that are there when an MSB fails.",
        ),
        "resize": (
            "services.cli.requests:resize",
            "Ask for another size, or other terms; what is left out stays as it is.",
        ),
        "delete": (
            "services.cli.requests:delete",
            "Return a reservation: its servers are freed.",
        ),
        "amend": (
            "services.cli.requests:amend",
            "Ask for something else in a request that is not decided yet; what is left out stays as it is.",
        ),
        "withdraw": (
            "services.cli.requests:withdraw",
            "Take back a request that is not decided yet.",
        ),
    },
    "Decide what may be asked for, and who asks": {
        "approve": (
            "services.cli.approvals:approve",
            "Let go on what waits for an approval.",
        ),
        "reject": (
            "services.cli.approvals:reject",
            "Refuse what waits for an approval.",
        ),
        "limits": (
            "services.cli.approvals:limits",
            "Show what requests in a region may do without an approval, or change it; what is left out stays.",
        ),
        "quota": (
            "services.cli.quota:quota",
            "Show what an owner may have and has, or change the limit.",
        ),
        "token": (
            "services.cli.token:app",
            "Who may ask, and for whom.",
        ),
    },
    "Run a region": {
        "import": (
            "services.cli.regions:import_region",
            "Bring servers in: a new region, or what a list changes in one that is there, shown before it is done.",
        ),
        "export": (
            "services.cli.regions:export_region",
            "Take a region out, as a folder that `plimsoll solve` and `plimsoll import` read.",
        ),
        "plan": (
            "services.cli.plan:plan",
            "Solve a region now instead of when it is next due, and follow the run.",
        ),
        "region": (
            "services.cli.region:region",
            "Show how often a region is solved, or change it.",
        ),
        "policy": (
            "services.cli.policy:policy",
            "Show what the solver weighs, or change it.",
        ),
        "drain": (
            "services.cli.drain:drain",
            "Announce planned maintenance, or its end.",
        ),
        "decommission": (
            "services.cli.retire:decommission",
            "Announce that a rack or server leaves the fleet.",
        ),
        "refresh": (
            "services.cli.retire:refresh",
            "Announce that a rack or server becomes another hardware type.",
        ),
        "mover": (
            "services.cli.moves:mover",
            "Show what bounds a region's moves and whether they are paused, or set bounds; what is left out stays.",
        ),
        "moves": (
            "services.cli.moves:app",
            "Deal with moves that failed for good; `plimsoll get moves --where dead_letter=open` lists them.",
        ),
        "pause": (
            "services.cli.moves:pause",
            "Let no move start and no step begin in a region; steps under way end.",
        ),
        "resume": (
            "services.cli.moves:resume",
            "Let a paused region's moves go on.",
        ),
    },
    "On this machine, and from files": {
        "demo": (
            "services.cli.demo.command:demo",
            "Run a simulated day on a platform of its own: requests, failures, hourly solves and moves, all over REST.",
        ),
        "up": (
            "services.cli.up:up",
            "Run the platform here: API, worker, scheduler and, unless DATABASE_URL is set, a database.",
        ),
        "solve": (
            "services.cli.solve:solve",
            "Assign every server of a region to a reservation.",
        ),
        "assign": (
            "services.cli.assign.command:app",
            "Solve problems of the assignment library: objects, containers and what is wanted of them, from a file.",
        ),
        "flux": (
            "services.cli.flux.command:app",
            "Plan capacity and traffic over regions: by the service, or from a folder of traces, use and supply.",
        ),
        "example": (
            "services.cli.example:example",
            "Write the folder of a made-up region, all of its servers free, to try things with.",
        ),
        "convert": (
            "services.cli.sources:convert",
            "Turn a list of servers into a region folder, without any platform: all of them free, no reservations.",
        ),
    },
}
"""Heading of --help -> command -> where it is, and what it does."""
COMMANDS = [name for commands in GROUPS.values() for name in commands]

app = typer.Typer(
    name="plimsoll",
    cls=lazy_group(GROUPS),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"plimsoll {version('plimsoll')}\n")
        raise typer.Exit


@app.callback()
def plimsoll(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Guaranteed capacity that survives the loss of a power domain.

    Capacity is in RRU (relative resource units): what one server of a hardware type is worth to the service that
    asks. MSB (main switch board): the largest domain that fails as one. Each COMMAND has its own --help.

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
