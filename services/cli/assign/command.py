"""`plimsoll assign`: solve problems of the assignment library from files."""

from __future__ import annotations

import typer

from services.cli.lazy import Commands, lazy_group

SECTIONS: dict[str, Commands] = {
    "From files": {
        "solve": (
            "services.cli.assign.solve:solve",
            "Solve a problem from a replay file and show the value of each constraint and goal.",
        ),
    },
}
app = typer.Typer(
    cls=lazy_group(SECTIONS),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def assign() -> None:
    """Solve problems of the assignment library from files."""
