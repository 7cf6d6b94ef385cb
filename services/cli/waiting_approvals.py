"""`plimsoll approvals`: list what waits for a person, and decide on actions of plans."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.plan_execution import RejectKind
from services.cli.approvals import ApprovalId, WhyOption, decide
from services.cli.client import Client, Json
from services.cli.output import (
    Output,
    OutputOption,
    note,
    plural,
    print_document,
    print_json,
    print_rows,
    say,
)

app = typer.Typer(
    help="List what waits for a person; resize or take over actions of plans; see the reasons of people.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {
    "ID": "approval_id",
    "KIND": "kind",
    "REGION": "region",
    "ABOUT": "about",
    "OWNER": "owner",
    "SIZE": "size",
    "STATUS": "status",
    "SINCE": "created_at",
    "CAUSES": "causes.reason",
    "POSSIBLE": "possible",
}
_WAITING = {"KIND": "kind", "OWNER": "owner", "WAIT": "number", "SINCE": "oldest_at"}
_DECIDED = {"KIND": "kind", "OUTCOME": "status", "NUMBER": "number", "MEDIAN S": "median_s", "90 % S": "p90_s"}
_EFFECTS = {
    "REQUEST": "capacity_request_id",
    "RESERVATION": "reservation",
    "OWNER": "owner",
    "WITHOUT": "phase_without",
    "AFTER": "phase_after",
    "WHY": "message",
}
_SHORTER = {"RESERVATION": "reservation", "LACKS NOW": "before_rru", "LACKS AFTER": "after_rru"}
_FREE = {"TYPE": "hardware_type", "FREE NOW": "before", "FREE AFTER": "after", "BUFFERS LACK": "buffers_lack"}
_REASONS = {"SERVICE": "service", "ANSWER": "verb", "KIND": "reject_kind", "NUMBER": "number"}
KindOption = Annotated[RejectKind | None, typer.Option(help="the kind of the reason; planners count them")]


@app.command("list")
def list_approvals(
    status: Annotated[ApprovalStatus, typer.Option(help="only of this status")] = ApprovalStatus.PENDING,
    kind: Annotated[ApprovalKind | None, typer.Option(help="only of this kind")] = None,
    region: Annotated[str | None, typer.Option("--region", "-r", help="only of this region")] = None,
    owner: Annotated[str | None, typer.Option(help="only of this owner")] = None,
    execution: Annotated[int | None, typer.Option(help="only actions of this execution")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List approvals: capacity requests, policies, maintenance, and actions of plans."""
    named = {"status": status, "kind": kind, "region": region, "owner": owner, "plan_execution_id": execution}
    found = list(Client.connect().items("/v1/approvals", **named))
    print_json(found) if output is Output.JSON else print_rows([_row(one) for one in found], _COLUMNS)


@app.command()
def show(identifier: ApprovalId, output: OutputOption = Output.TABLE) -> None:
    """Show one approval: the change, why it waits, and the decision."""
    found = Client.connect().get(f"/v1/approvals/{identifier}")
    print_json(found) if output is Output.JSON else print_document(found)


@app.command()
def effects(identifier: ApprovalId, output: OutputOption = Output.TABLE) -> None:
    """Show what the approval of a capacity request takes from reservations, and from other requests that wait."""
    found = Client.connect().get(f"/v1/approvals/{identifier}/effects")
    if output is Output.JSON:
        print_json(found)
        return
    say(f"It would be {found['phase']}: {found['message']}")
    present = found["present"]
    say(
        f"It binds {plural(present['from_free'], 'free server')} and takes {present['from_others']:,} from other "
        f"reservations. Of {present['compared']:,} reservations, {len(present['shorter']):,} would lack more than now."
    )
    print_rows(present["shorter"], _SHORTER)
    print_rows(present["free"], _FREE)
    if found["rebooked"]:
        say(f"Other servers are booked for {', '.join(found['rebooked'])}.")
    lost = [one for one in found["items"] if one["lost"]]
    others = plural(len(found["items"]), "other request waits", "other requests wait")
    say(f"{others}; {plural(len(lost), 'gets', 'get')} less after it.")
    print_rows(found["items"], _EFFECTS)
    if found["more"]:
        note(f"Only the latest {plural(len(found['items']), 'request is', 'requests are')} judged, and more wait.")


@app.command()
def edit(
    identifier: ApprovalId,
    size: Annotated[float, typer.Option(min=0.0, help="the new size, in units of the hardware type")],
    reason: WhyOption,
    kind: KindOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change the size that an action of a plan leads to. The approval of the new size stays pending."""
    decide(identifier, "edit", {"size": size, "reason": reason} | _given(kind), output)


@app.command("take-over")
def take_over(identifier: ApprovalId, reason: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Take an action of a plan over, to do it by hand. `plimsoll execution give ID complete` ends it."""
    decide(identifier, "take-over", {"reason": reason}, output)


@app.command()
def figures(
    service: Annotated[str | None, typer.Option(help="reasons about this service only")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="count decisions of so many days")] = 90,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what waits and since when, how long decisions took, and why people said no, by kind and service."""
    found = Client.connect().get("/v1/approval-figures", service=service, days=days)
    if output is Output.JSON:
        print_json(found)
        return
    for name, columns in (("waiting", _WAITING), ("decided", _DECIDED), ("reasons", _REASONS)):
        print_rows(found[name], columns)


def _row(one: Json) -> Json:
    size = one["change"]["size"] if one["kind"] == "plan_action" else None
    return one | {"size": size, "possible": ", ".join(one["possible"])}


def _given(kind: RejectKind | None) -> Json:
    return {} if kind is None else {"reject_kind": kind}
