"""`plimsoll drain`: planned maintenance of a server, rack, MSB or datacenter."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.unavailability import UnavailabilityScope
from services.cli.client import Client, Json
from services.cli.moments import MOMENT, moment
from services.cli.output import Output, OutputOption, note, plural, print_json, say
from services.cli.requests import RegionOption


def drain(
    scope: Annotated[UnavailabilityScope, typer.Argument(help="how much of the region")],
    name: Annotated[str, typer.Argument(help="which one")],
    region: RegionOption,
    reason: Annotated[str, typer.Option(help="why; people read it")] = "planned maintenance",
    at: Annotated[
        str | None, typer.Option(metavar=MOMENT, help="when it begins, if not now; UTC unless the time has an offset")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar=MOMENT, help="its expected end; UTC unless the time has an offset"),
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="end its open planned events now")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Announce planned maintenance, or its end. Its servers still count, because embedded buffers cover them."""
    client = Client.connect()
    planned = [
        event
        for event in client.items("/v1/unavailability-events", region=region, open="true", limit=1000)
        if event["kind"] == "planned"
    ]
    if end:
        events = [
            client.post(f"/v1/unavailability-events/{event['unavailability_event_id']}/end")
            for event in planned
            if _place(event) == (scope, name)
        ]
    else:
        body: Json = {"region": region, "scope": scope, "scope_name": name, "kind": "planned", "reason": reason}
        body |= {} if at is None else {"starts_at": moment("--at", at)}
        body |= {} if until is None else {"ends_at": moment("--until", until)}
        events = [client.post("/v1/unavailability-events", body)]
        _warn(planned, scope, name, region)
    if output is Output.JSON:
        print_json({"items": events})
    elif not events:
        say(f"{scope} {name}: no open planned event")
    else:
        ids = ", ".join(str(event["unavailability_event_id"]) for event in events)
        begins = "has begun" if at is None else f"begins at {events[0]['starts_at']}"
        verb = "has" if len(events) == 1 else "have"
        said = f"{verb} ended" if end else f"{begins}; its servers go on counting"
        say(f"{scope} {name}: event{'s' * (len(events) > 1)} {ids} {said}")


def _warn(planned: list[Json], scope: UnavailabilityScope, name: str, region: str) -> None:
    """Warn of other announced maintenance, because an embedded buffer covers one MSB, never two."""
    also = [str(event["unavailability_event_id"]) for event in planned if _place(event) == (scope, name)]
    if also:
        note(f"{scope} {name} is also in planned maintenance by event {', '.join(also)}; --end ends all of them")
    msbs = sorted({event["scope_name"] for event in planned if event["scope"] == UnavailabilityScope.MSB} - {name})
    if scope is UnavailabilityScope.MSB and msbs:
        note(
            f"warning: maintenance is announced for {plural(len(msbs), 'other MSB')} too ({', '.join(msbs)}). Embedded "
            f"buffers cover one MSB at a time: `plimsoll drain msb {msbs[0]} --region {region} --end` ends it"
        )


def _place(event: Json) -> tuple[str, str]:
    return event["scope"], event["scope_name"]
