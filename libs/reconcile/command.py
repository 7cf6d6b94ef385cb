"""The command line of a service's process: `python -m services.NAME.main serve | work`."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence


def run_command(program: str, *commands: Callable[[], None], arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments (sys.argv) name. Its name and help are those of its function.

    Raises SystemExit (2) with a usage line if they name none.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    choices = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        said = inspect.getdoc(command)
        choices.add_parser(command.__name__.replace("_", "-"), help=said, description=said).set_defaults(run=command)
    parser.parse_args(sys.argv[1:] if arguments is None else arguments).run()
