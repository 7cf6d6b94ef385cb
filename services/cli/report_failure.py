"""`plimsoll failure`: report that a server, a place or a domain is down, or that it is up again."""

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


def failure(
    region: RegionOption,
    scope: ScopeArgument = None,
    name: NameArgument = None,
    domain: DomainOption = None,
    reason: Annotated[str, typer.Option(help="why; people read it")] = "reported by hand",
    at: Annotated[
        str | None, typer.Option(metavar=MOMENT, help="when it began, if not now; UTC unless the time has an offset")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar=MOMENT, help="when it ends by itself; UTC unless the time has an offset")
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="it is up again: end its open failures")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Report a failure, or its end. Its servers count for no capacity. Health systems report by the API."""
    client = Client.connect()
    where, which = place_of(scope, name, domain)
    if end:
        require_alone({"--at": at, "--until": until})
        end_events(client, region, "unplanned", where, which, output)
        return
    body: Json = {"region": region, "scope": where, "scope_name": which, "kind": "unplanned", "reason": reason}
    body |= {} if at is None else {"starts_at": moment("--at", at)}
    body |= {} if until is None else {"ends_at": moment("--until", until)}
    also = [str(event["unavailability_event_id"]) for event in open_events(client, region, "unplanned", where, which)]
    event = client.post(EVENTS, body)
    if also:
        note(f"{where} {which} is also reported by event {', '.join(also)}; --end ends all of them")
    if output is Output.JSON:
        print_json({"items": [event]})
    else:
        since = f"is down from {text_of(event['starts_at'])} on; its servers count for no capacity"
        say(f"{where} {which}: event {event['unavailability_event_id']} {since}")
