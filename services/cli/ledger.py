"""`plimsoll ledger`: dated changes of capacity and traffic by several writers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, print_document, print_json, print_rows, say

app = typer.Typer(
    help="Show, propose and decide dated changes of capacity and traffic.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_EVENTS = "/v1/capacity-events"
_COLUMNS = {
    "ID": "capacity_event_id",
    "STATUS": "status",
    "DUE": "starts_at",
    "OF": "of",
    "WHERE": "where",
    "AMOUNT": "amount",
    "ACHIEVED": "achieved",
    "BY": "author",
    "WHY": "reason",
}
_EFFECT = {"OF": "of", "REGION": "region", "TYPE": "hardware_type"}
_SUMS = {name.upper(): f"sums.{name}" for name in ("done", "active", "approved", "proposed")}
IdArgument = Annotated[int, typer.Argument(metavar="ID", help="the event")]
ReasonOption = Annotated[str | None, typer.Option(help="why; for the history")]
ServiceOption = Annotated[str | None, typer.Option(help="the service")]
ProductOption = Annotated[str | None, typer.Option(help="the product")]
TypeOption = Annotated[str | None, typer.Option("--type", help="the hardware type")]


class WriterKind(StrEnum):
    """The kind of writer of an event."""

    PERSON = "person"
    BUDGET = "budget"
    FLUX = "flux"


@app.command("list")
def list_events(
    status: Annotated[list[str] | None, typer.Option(help="only events of this status; repeatable")] = None,
    service: ServiceOption = None,
    product: ProductOption = None,
    region: Annotated[str | None, typer.Option("--region", "-r", help="the region, or either end of a shift")] = None,
    plan: Annotated[int | None, typer.Option(help="only events of this placement plan")] = None,
    before: Annotated[str | None, typer.Option(metavar=MOMENT, help="only events that are due before")] = None,
    all_: Annotated[bool, typer.Option("--all", help="also events that are over")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List events. Without --status or --all, only those that are not over."""
    statuses = status or (None if all_ else ["proposed", "approved", "active"])
    found = list(
        Client.connect().items(
            _EVENTS,
            status=statuses,
            service=service,
            product=product,
            region=region,
            placement_plan_id=plan,
            due_before=moment("--before", before),
        )
    )
    print_json(found) if output is Output.JSON else print_rows([_row(one) for one in found], _COLUMNS)


@app.command()
def show(event_id: IdArgument, output: OutputOption = Output.TABLE) -> None:
    """Show one event and its history."""
    found = Client.connect().get(f"{_EVENTS}/{event_id}")
    if output is Output.TABLE:
        found["effect"] = {name: value for name, value in found["effect"].items() if value is not None}
    (print_json if output is Output.JSON else print_document)(found)


@app.command()
def propose(
    due: Annotated[str, typer.Option(metavar=MOMENT, help="when the change is due, such as 2026-12-01")],
    reason: Annotated[str, typer.Option(help="why; shown to all who read it")],
    service: ServiceOption = None,
    region: Annotated[str | None, typer.Option("--region", "-r", help="the region of the service's capacity")] = None,
    type_: TypeOption = None,
    delta: Annotated[float | None, typer.Option(help="change of capacity, in units of the type; below 0: less")] = None,
    product: ProductOption = None,
    from_region: Annotated[str | None, typer.Option("--from", help="move traffic from this region")] = None,
    to_region: Annotated[str | None, typer.Option("--to", help="to this one")] = None,
    share: Annotated[float | None, typer.Option(help="share of the product's worldwide traffic, 0 to 1")] = None,
    after: Annotated[list[int] | None, typer.Option(metavar="ID", help="event that must succeed first")] = None,
    lead_time_h: Annotated[float, typer.Option(min=0.0, help="hours until new capacity serves")] = 0.0,
    writer: Annotated[WriterKind, typer.Option(help="the kind of writer")] = WriterKind.PERSON,
    despite: Annotated[list[int] | None, typer.Option(metavar="ID", help="live event to contradict")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="check it without storing it")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Propose a change of a service's capacity, or a shift of a product's traffic."""
    capacity = {"service": service, "region": region, "hardware_type": type_, "delta": delta}
    traffic = {"product": product, "from_region": from_region, "to_region": to_region, "share": share}
    event: Json = {
        "effect": _one_of(capacity, traffic),
        "writer": writer.value,
        "reason": reason,
        "starts_at": moment("--due", due),
        "lead_time_h": lead_time_h,
        "antecedents": after or [],
    }
    body: Json = {"events": [event], "despite": despite or []}
    if despite:
        body["despite_reason"] = reason
    found = Client.connect().post(_EVENTS, body, dry_run=dry_run or None)
    if output is Output.JSON:
        print_json(found)
    elif dry_run:
        say("The ledger would take it.")
    else:
        say(f"Proposed event {found['capacity_event_ids'][0]}.")


@app.command()
def approve(event_id: IdArgument, reason: ReasonOption = None, output: OutputOption = Output.TABLE) -> None:
    """Approve a proposed event."""
    _change(event_id, "decide", {"status": "approved", "reason": reason}, output)


@app.command()
def activate(
    event_id: IdArgument,
    reason: ReasonOption = None,
    despite_freezes: Annotated[
        bool, typer.Option("--despite-freezes", help="although a freeze holds it; needs a reason")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let executing systems carry out an approved event. Its antecedents must have succeeded."""
    body = {"status": "active", "reason": reason} | ({"despite_freezes": True} if despite_freezes else {})
    _change(event_id, "decide", body, output)


@app.command()
def cancel(event_id: IdArgument, reason: ReasonOption = None, output: OutputOption = Output.TABLE) -> None:
    """Cancel an event. If it is active, the amount that has happened stays."""
    _change(event_id, "decide", {"status": "cancelled", "reason": reason}, output)


@app.command()
def report(
    event_id: IdArgument,
    status: Annotated[str, typer.Argument(metavar="active|succeeded|failed", help="active: it goes on")],
    achieved: Annotated[float, typer.Option(help="amount that has happened so far, with its sign")],
    reason: ReasonOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Report what came of an active event, for an executing system or by hand."""
    _change(event_id, "report", {"status": status, "achieved": achieved, "reason": reason}, output)


@app.command()
def effect(
    service: ServiceOption = None,
    product: ProductOption = None,
    region: Annotated[str | None, typer.Option("--region", "-r", help="the region")] = None,
    type_: TypeOption = None,
    at: Annotated[str | None, typer.Option(metavar=MOMENT, help="the time; default: now")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the combined effect of all events that are due at a time."""
    found = Client.connect().get(
        "/v1/capacity-effects",
        service=service,
        product=product,
        region=region,
        hardware_type=type_,
        at=moment("--at", at),
    )
    if output is Output.JSON:
        print_json(found)
        return
    rows = [{**one, "of": one["service"]} for one in found["capacity"]]
    rows += [{**one, "of": one["product"]} for one in found["traffic"]]
    print_rows(rows, _EFFECT | _SUMS)


def _change(event_id: int, verb: str, body: Json, output: Output) -> None:
    client, path = Client.connect(), f"{_EVENTS}/{event_id}"
    found = client.post(f"{path}/{verb}", body, generation=client.get(path)["generation"])
    if output is Output.JSON:
        print_json(found)
    else:
        say(f"Event {event_id} is {found['status']}.")


def _one_of(capacity: Json, traffic: Json) -> Json:
    """Return the effect that is given whole. Raises CliFailure."""
    given = {
        kind: all(value is not None for value in values.values())
        for kind, values in (("capacity", capacity), ("traffic", traffic))
    }
    some_of_both = any(v is not None for v in capacity.values()) and any(v is not None for v in traffic.values())
    if some_of_both or sum(given.values()) != 1:
        raise CliFailure(
            "give --service, --region, --type and --delta to change capacity, "
            "or --product, --from, --to and --share to shift traffic"
        )
    return {"kind": "capacity", **capacity} if given["capacity"] else {"kind": "traffic", **traffic}


def _row(event: Json) -> Json:
    """Return a row of the table: one column each for the subject, the place and the amount of both kinds."""
    of = event["effect"]
    if of["kind"] == "capacity":
        words = {"of": of["service"], "where": f"{of['region']} {of['hardware_type']}", "amount": of["delta"]}
    else:
        words = {"of": of["product"], "where": f"{of['from_region']} > {of['to_region']}", "amount": of["share"]}
    return {**event, **words}
