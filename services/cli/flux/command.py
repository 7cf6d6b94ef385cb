"""`plimsoll flux`: commands that plan from files, and commands that call the planner service."""

from __future__ import annotations

import typer

from services.cli.lazy import Commands, lazy_group

SECTIONS: dict[str, Commands] = {
    "By the planner service": {
        "inputs": (
            "services.cli.flux.inputs:inputs",
            "Show and put the inputs of plans: supply, growth, controls and others, in versions.",
        ),
        "send": ("services.cli.flux.send:send", "Send files of spans, usage and traffic to the platform."),
        "telemetry": (
            "services.cli.flux.telemetry:telemetry",
            "Show received spans by day, and the range of usage and traffic.",
        ),
        "names": (
            "services.cli.flux.names:names",
            "Count the names of services and series by token, and forget those of one token.",
        ),
        "run": ("services.cli.flux.runs:run", "Plan now in the service, and wait for the plan."),
        "what-if": (
            "services.cli.flux.what_if:what_if",
            "Plan for a changed world, and show the difference.",
        ),
        "apply": ("services.cli.flux.what_if:apply", "Make a plan for review the target."),
        "plans": ("services.cli.flux.runs:plans", "Show one placement plan, or a list of them."),
        "figures": (
            "services.cli.flux.figures:figures",
            "Show coverage, completion and automation of executions, and residuals of models.",
        ),
        "override": (
            "services.cli.flux.overrides:override",
            "Bound a service or a product in a region in the next plans.",
        ),
    },
    "From files": {
        "traces": (
            "services.cli.flux.files:traces",
            "Show calls between services in trace files, and the entry points that cause them.",
        ),
        "model": (
            "services.cli.flux.files:model",
            "Fit the capacity that each service needs per product's traffic, with its error.",
        ),
        "plan": (
            "services.cli.flux.files:plan",
            "Plan the place of capacity and traffic at each step, and the actions of the first.",
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
    """Plan capacity and traffic over regions, in the service or from a folder of traces, usage and supply."""
