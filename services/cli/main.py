"""The `plimsoll` command: one file per subcommand, imported when it runs."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Annotated

import typer
from rich.text import Text

from services.cli.failure import EXIT_ERROR, CliFailure
from services.cli.lazy import Commands, lazy_group
from services.cli.output import stderr
from services.cli.started import count_from, process_began

GROUPS: dict[str, Commands] = {
    "Look": {
        "get": (
            "services.cli.get:get",
            "Show one object, or a list of them.",
        ),
        "status": (
            "services.cli.status:status",
            "Show the state of a region: capacity, servers by type, problems, and decisions that wait for a person.",
        ),
        "history": (
            "services.cli.history:history",
            "Show what a reservation asked for, was granted and held, newest first.",
        ),
        "explain": (
            "services.cli.explain:explain",
            "Explain a reservation: its need, its servers, the constraints that decide, and the last solve's changes.",
        ),
        "simulate": (
            "services.cli.simulate:simulate",
            "Simulate changes of a region, and show the difference.",
        ),
    },
    "Ask for capacity": {
        "create": (
            "services.cli.requests:create",
            "Request a reservation: an amount of RRU (or servers) that remains available when an MSB fails.",
        ),
        "resize": (
            "services.cli.requests:resize",
            "Request another size or other terms.",
        ),
        "delete": (
            "services.cli.requests:delete",
            "Return a reservation: its servers become free.",
        ),
        "amend": (
            "services.cli.requests:amend",
            "Amend an undecided request.",
        ),
        "withdraw": (
            "services.cli.requests:withdraw",
            "Withdraw an undecided request.",
        ),
    },
    "Log in": {
        "login": (
            "services.cli.login:login",
            "Log in with your company's directory: enter a code in a browser, on any machine.",
        ),
        "logout": (
            "services.cli.login:logout",
            "Forget the login on this machine.",
        ),
        "whoami": (
            "services.cli.login:whoami",
            "Show who you are for the platform: your claims, the rules that match, your role and your owners.",
        ),
    },
    "Set limits and tokens": {
        "approve": (
            "services.cli.approvals:approve",
            "Approve a waiting change.",
        ),
        "reject": (
            "services.cli.approvals:reject",
            "Reject a waiting change.",
        ),
        "approvals": (
            "services.cli.waiting_approvals:app",
            "List what waits for a person; resize or take over actions of plans; see the reasons of people.",
        ),
        "limits": (
            "services.cli.approvals:limits",
            "Show or change the approval limits of a region.",
        ),
        "quota": (
            "services.cli.quota:quota",
            "Show an owner's limit and use in cost units, or change the limit.",
        ),
        "cost-units": (
            "services.cli.cost_units:cost_units",
            "Show or change what a server of a type counts toward quotas.",
        ),
        "power": (
            "services.cli.power:app",
            "Show the watts that domains draw, and set their limits.",
        ),
        "uplinks": (
            "services.cli.uplinks:app",
            "Show what racks send, and set the limits of their uplinks.",
        ),
        "rru": (
            "services.cli.rru.command:app",
            "Manage the RRU catalogue of a region: what servers are worth to classes of workload.",
        ),
        "token": (
            "services.cli.token:app",
            "Manage tokens: their roles and owners.",
        ),
    },
    "Run a region": {
        "import": (
            "services.cli.regions:import_region",
            "Import servers: create a region, or show and apply the changes of a list to an existing one.",
        ),
        "export": (
            "services.cli.regions:export_region",
            "Export a region as a folder that `plimsoll solve` and `plimsoll import` read.",
        ),
        "plan": (
            "services.cli.plan:plan",
            "Solve a region now, before its next scheduled solve, and follow the run.",
        ),
        "region": (
            "services.cli.region:region",
            "Show or change a region's solve period.",
        ),
        "policy": (
            "services.cli.policy:policy",
            "Show or change the solver's weights.",
        ),
        "rollout": (
            "services.cli.rollout:app",
            "Roll out another policy of a region: in shadow, on a canary, everywhere; and take it back.",
        ),
        "failure": (
            "services.cli.report_failure:failure",
            "Report a failure, or its end.",
        ),
        "drain": (
            "services.cli.drain:drain",
            "Ask for planned maintenance, or end it.",
        ),
        "drain-schedule": (
            "services.cli.drain_schedule:drain_schedule",
            "Plan drains of many racks: which of them at what time.",
        ),
        "decommission": (
            "services.cli.retire:decommission",
            "Announce that a place or server leaves the fleet.",
        ),
        "refresh": (
            "services.cli.retire:refresh",
            "Announce that a place or server becomes another hardware type.",
        ),
        "mover": (
            "services.cli.moves:mover",
            "Show a region's mover, or set bounds on its moves.",
        ),
        "moves": (
            "services.cli.moves:app",
            "Handle moves that failed for good; `plimsoll get moves --where dead_letter=open` lists them.",
        ),
        "pause": (
            "services.cli.moves:pause",
            "Pause the moves of a region: no move starts and no step begins.",
        ),
        "resume": (
            "services.cli.moves:resume",
            "Resume the moves of a paused region.",
        ),
    },
    "Plan over regions": {
        "freeze": (
            "services.cli.freeze:app",
            "Keep the calendar of freezes: times in which no action of a plan begins.",
        ),
        "execution": (
            "services.cli.execution:app",
            "Carry out placement plans: start, watch, pause, approve, take back.",
        ),
        "ledger": (
            "services.cli.ledger:app",
            "Show, propose and decide dated changes of capacity and traffic.",
        ),
    },
    "On this machine, and from files": {
        "demo": (
            "services.cli.demo.command:demo",
            "Run a simulated day on a platform of its own: requests, failures, hourly solves and moves, all over REST.",
        ),
        "up": (
            "services.cli.up:up",
            "Run the platform here: API, pages, worker, scheduler and, unless DATABASE_URL is set, a database.",
        ),
        "backup": (
            "services.cli.backup:backup",
            "Write the platform's database to a file, while the platform runs.",
        ),
        "restore": (
            "services.cli.backup:restore",
            "Restore a backup into an empty database: DATABASE_URL, or a new one in PLIMSOLL_STATE_DIR.",
        ),
        "solve": (
            "services.cli.solve:solve",
            "Assign every server of a region to a reservation.",
        ),
        "assign": (
            "services.cli.assign.command:app",
            "Solve problems of the assignment library from files.",
        ),
        "flux": (
            "services.cli.flux.command:app",
            "Plan capacity and traffic over regions, in the service or from a folder of traces, usage and supply.",
        ),
        "example": (
            "services.cli.example:example",
            "Write the folder of a made-up region with free servers only, to try commands with.",
        ),
        "convert": (
            "services.cli.sources:convert",
            "Turn a list of servers into a region folder without a platform.",
        ),
    },
}
"""Heading of --help -> command -> its place and its sentence."""
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

    Capacity is in RRU (relative resource units): the worth of one server of a hardware type to a service. MSB (main
    switch board): the largest domain that fails as one. Each COMMAND has its own --help.

    Exit status: 0 done, 1 an error, 2 not possible as asked.
    """


_PARSERS_STATUS = 2
"""Exit status of argument parsers for a usage error. Ours gives 2 another meaning."""


def start() -> None:
    """Entry point of the console script: `main`, with time limits that count from the start of the process."""
    count_from(process_began())
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its second thread spins on the processor of a solver
    atexit.register(gc.freeze)  # or the interpreter looks for cycles in all memory before it ends, for 0.4 s of a solve
    main()


def main() -> None:
    """Run the command of `sys.argv`. Exit status: 0 done, 1 error, 2 not possible as asked."""
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
    start()
