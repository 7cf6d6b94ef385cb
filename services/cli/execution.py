"""`plimsoll execution`: carry out a placement plan, and command its execution."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.execution_plan import Phase
from libs.domain.plan_execution import RejectKind, Verb
from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, print_document, print_json, print_rows, say

app = typer.Typer(
    help="Carry out placement plans: start, watch, pause, approve, take back.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_EXECUTIONS = "/v1/plan-executions"
_COLUMNS = {
    "ID": "plan_execution_id",
    "PLAN": "placement_plan_id",
    "STATE": "state",
    "TAKES BACK": "reverses_execution_id",
    "BY": "created_by",
    "STARTED": "started_at",
    "ENDED": "finished_at",
    "WHY": "reason",
}
_ACTIONS = {
    "ACTION": "action",
    "STATE": "state",
    "REACHED": "reached",
    "WAITS FOR": "waiting",
    "NOTE": "note",
    "POSSIBLE": "possible",
}
_COMMANDS = {
    "AT": "given_at",
    "BY": "actor",
    "COMMAND": "verb",
    "ABOUT": "subject",
    "ACCEPTED": "accepted",
    "CODE": "code",
    "WHY": "reason",
}
IdArgument = Annotated[int, typer.Argument(metavar="ID", help="the execution")]
ReasonOption = Annotated[str, typer.Option(help="why; for the audit trail")]


@app.command()
def create(
    plan: Annotated[int, typer.Argument(metavar="PLAN", help="the target plan; see `plimsoll flux plans`")],
    reason: ReasonOption,
    output: OutputOption = Output.TABLE,
) -> None:
    """Prepare the execution of a placement plan. It begins with `plimsoll execution give ID start`."""
    made = Client.connect().post(_EXECUTIONS, {"placement_plan_id": plan, "reason": reason})
    text = f"execution {made['plan_execution_id']} is a draft"
    print_json(made) if output is Output.JSON else say(text)


@app.command("list")
def list_executions(
    state: Annotated[str | None, typer.Option(help="only in this state")] = None, output: OutputOption = Output.TABLE
) -> None:
    """List executions, latest first."""
    found = list(Client.connect().items(_EXECUTIONS, state=state))
    print_json(found) if output is Output.JSON else print_rows(found, _COLUMNS)


@app.command()
def show(execution: IdArgument, output: OutputOption = Output.TABLE) -> None:
    """Show one execution, and the number of its actions by phase and state."""
    found = Client.connect().get(f"{_EXECUTIONS}/{execution}")
    print_json(found) if output is Output.JSON else print_document(found)


@app.command()
def actions(
    execution: IdArgument,
    phase: Annotated[Phase | None, typer.Option(help="only of this phase")] = None,
    state: Annotated[str | None, typer.Option(help="only in this state")] = None,
    region: Annotated[str | None, typer.Option("--region", "-r", help="only in, from or to this region")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List actions: what each waits for, and what people may do about it now."""
    path = f"{_EXECUTIONS}/{execution}/actions"
    found = list(Client.connect().items(path, phase=phase, state=state, region=region))
    print_json(found) if output is Output.JSON else print_rows([_joined(one) for one in found], _ACTIONS)


@app.command()
def commands(execution: IdArgument, output: OutputOption = Output.TABLE) -> None:
    """List the commands about an execution with their outcomes, latest first."""
    found = list(Client.connect().items(f"{_EXECUTIONS}/{execution}/commands"))
    print_json(found) if output is Output.JSON else print_rows(found, _COMMANDS)


@app.command()
def give(
    execution: IdArgument,
    verb: Annotated[Verb, typer.Argument(help="the command")],
    reason: ReasonOption,
    action: Annotated[str | None, typer.Option(help="about this action; default: the whole execution")] = None,
    phase: Annotated[Phase | None, typer.Option(help="about all actions of this phase")] = None,
    size: Annotated[float | None, typer.Option(min=0.0, help="for edit: the new size")] = None,
    kind: Annotated[RejectKind | None, typer.Option(help="for reject and edit: the kind of the reason")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a command. It takes effect at once, or is refused with the reason. `actions` lists what is possible."""
    if action is not None and phase is not None:
        raise typer.BadParameter("name an action or a phase, not both")
    body: Json = {"verb": verb, "reason": reason}
    if action is not None or phase is not None:
        body |= {"level": "action" if action is not None else "phase", "subject": action or phase}
    if size is not None:
        body["size"] = size
    if kind is not None:
        body["reject_kind"] = kind
    found = Client.connect().post(f"{_EXECUTIONS}/{execution}/commands", body)
    told = f"execution {execution} is {found['state']}"
    about = f"; {found['changed']} actions changed" if found["changed"] else ""
    print_json(found) if output is Output.JSON else say(told + about)


def _joined(one: Json) -> Json:
    return one | {name: ", ".join(one[name]) for name in ("waiting", "possible")}
