"""`plimsoll drain`: planned maintenance of a server, rack, MSB, datacenter or domain of a further kind."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, note, print_json, say, text_of
from services.cli.places import (
    EVENTS,
    DomainOption,
    NameArgument,
    ScopeArgument,
    end_events,
    open_events,
    place_of,
    require_alone,
)
from services.cli.requests import RegionOption


def drain(
    region: RegionOption,
    scope: ScopeArgument = None,
    name: NameArgument = None,
    domain: DomainOption = None,
    reason: Annotated[str, typer.Option(help="why; people read it")] = "planned maintenance",
    at: Annotated[
        str | None, typer.Option(metavar=MOMENT, help="when it begins, if not now; UTC unless the time has an offset")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar=MOMENT, help="its expected end; UTC unless the time has an offset"),
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="end its open planned events now; withdraw those that wait")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the answer without asking for it")] = False,
    override: Annotated[
        str | None, typer.Option("--override", metavar="REASON", help="begin against the rules; why")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for planned maintenance, or end it. It begins now, is queued or is refused. Its servers still count."""
    client = Client.connect()
    where, which = place_of(scope, name, domain)
    place = f"{where} {which}"
    if end:
        require_alone({"--at": at, "--until": until, "--override": override, "--dry-run": dry_run or None})
        end_events(client, region, "planned", where, which, output)
        return
    body: Json = {"region": region, "scope": where, "scope_name": which, "kind": "planned", "reason": reason}
    body |= {} if at is None else {"starts_at": moment("--at", at)}
    body |= {} if until is None else {"ends_at": moment("--until", until)}
    body |= {} if override is None else {"override_reason": override}
    if dry_run:
        answer = client.post(f"{EVENTS}?dry_run=true", body)
        if output is Output.JSON:
            print_json(answer)
        else:
            say(f"{place} {_WOULD[answer['verdict']]}{_when(answer)}: {answer['message']}")
        return
    there = open_events(client, region, "planned", where, which)
    for one in there:
        _note_newcomers(one)  # before the request: a refusal ends the command
    also = [str(one["unavailability_event_id"]) for one in there]
    event = client.post(EVENTS, body)
    if also:
        note(f"{place} is also asked for by event {', '.join(also)}; --end ends all of them")
    if output is Output.JSON:
        print_json({"items": [event]})
    else:
        say(f"{place}: event {event['unavailability_event_id']} {_told(event)}")


_WOULD = {"now": "would begin now", "queued": "would be queued", "refused": "would be refused"}


def _told(event: Json) -> str:
    """Return a sentence with the result of the request, and its reason."""
    answer = event["answer"]
    match event["state"]:
        case "queued":
            return f"is queued{_when(answer)}: {answer['message']}"
        case "announced":
            return f"begins at {text_of(event['starts_at'])}; it is asked again when it is due"
        case "awaiting_approval":
            return "waits for the approval of another person: `plimsoll get approvals -w status=pending`"
        case _ if answer is not None and answer["verdict"] != "now":
            return f"is allowed by override, from {text_of(event['starts_at'])}, though {answer['message']}"
        case _:
            return "has begun; its servers go on counting"


def _note_newcomers(event: Json) -> None:
    """Say how many servers came after the event was allowed, and why it does not take them."""
    later = event.get("newcomers")  # a broker of the previous version does not tell
    if later is not None:
        which = f"{later['servers']} server{'s' * (later['servers'] != 1)} that came later"
        note(f"event {event['unavailability_event_id']} does not take {which}: {later['answer']['message']}")


def _when(answer: Json) -> str:
    """Return the place in the queue and the estimate of the beginning."""
    if answer["verdict"] != "queued":
        return ""
    begins_at = answer["begins_at"]
    begins = "no end of what it waits for is known" if begins_at is None else f"about {text_of(begins_at)}"
    return f" as number {answer['position']}, {begins}"
