"""`plimsoll drain`: planned maintenance of a server, rack, MSB or datacenter."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.server import UnavailabilityScope
from services.cli.client import Client, Json
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, print_json, say
from services.cli.requests import RegionOption


def drain(
    scope: Annotated[UnavailabilityScope, typer.Argument(help="how much of the region")],
    name: Annotated[str, typer.Argument(help="which one")],
    region: RegionOption,
    reason: Annotated[str, typer.Option(help="why; people read it")] = "planned maintenance",
    until: Annotated[
        str | None,
        typer.Option(metavar=MOMENT, help="when it is expected to be over; UTC unless the time has an offset"),
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="it is over: end its open planned events")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Announce planned maintenance, or its end. Planned servers go on counting: embedded buffers stand in for them."""
    client = Client.connect()
    if end:
        events = [
            client.post(f"/v1/unavailability-events/{event['unavailability_event_id']}/end")
            for event in client.items("/v1/unavailability-events", region=region, open="true")
            if (event["scope"], event["scope_name"], event["kind"]) == (scope, name, "planned")
        ]
    else:
        body: Json = {"region": region, "scope": scope, "scope_name": name, "kind": "planned", "reason": reason}
        if until is not None:
            body["ends_at"] = moment("--until", until)
        events = [client.post("/v1/unavailability-events", body)]
    if output is Output.JSON:
        print_json({"items": events})
    else:
        ids = ", ".join(str(event["unavailability_event_id"]) for event in events)
        said = "has ended" if end else "has begun; its servers go on counting"
        say(f"{scope} {name}: event {ids} {said}" if events else f"{scope} {name}: no open planned event")
