"""`plimsoll flux`: what plans from files, and what asks the planner service."""

from __future__ import annotations

import typer

from services.cli.lazy import Commands, lazy_group

SECTIONS: dict[str, Commands] = {
    "By the planner service": {
        "inputs": (
            "services.cli.flux.inputs:inputs",
            "Show and put what plans are made from: supply, growth, controls and others, in versions.",
        ),
        "send": ("services.cli.flux.send:send", "Send files of spans, use and traffic to the platform."),
        "telemetry": (
            "services.cli.flux.telemetry:telemetry",
            "Show what came in: spans by day, and how far use and traffic reach.",
        ),
        "names": (
            "services.cli.flux.names:names",
            "Show how many names of services and series each token brought, and forget those of one.",
        ),
        "run": ("services.cli.flux.runs:run", "Have the service plan now, and wait for the plan."),
        "plans": ("services.cli.flux.runs:plans", "Show placement plans, or one of them."),
        "override": (
            "services.cli.flux.overrides:override",
            "Bound what the next plans may do with a service or a product in a region.",
        ),
    },
    "From files": {
        "traces": (
            "services.cli.flux.files:traces",
            "Show who calls whom in trace files, and which entry point causes it.",
        ),
        "model": (
            "services.cli.flux.files:model",
            "Find out what each service needs for each product's traffic, and how far to trust that.",
        ),
        "plan": (
            "services.cli.flux.files:plan",
            "Say where capacity and traffic should be at each step, and how to get to the first.",
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
def flux() -> None:
    """Plan capacity and traffic over regions: by the service, or from a folder of traces, use and supply."""
