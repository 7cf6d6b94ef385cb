"""Arguments that name the place of a failure or of maintenance, and the open events of a place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from libs.domain.domain_kind import MSB_KIND
from libs.domain.page import ITEMS_MAX
from libs.domain.unavailability import UnavailabilityScope
from services.cli.client import Client, Json
from services.cli.output import Output, print_json, say

EVENTS = "/v1/unavailability-events"
_FORM = "KIND:DOMAIN, such as network_block:block-03"
ScopeArgument = Annotated[UnavailabilityScope | None, typer.Argument(help="how much of the region")]
NameArgument = Annotated[str | None, typer.Argument(help="which one")]
DomainOption = Annotated[
    str | None,
    typer.Option(
        "--domain",
        metavar="KIND:DOMAIN",
        help="instead of scope and name: a domain of a further kind of the region, such as network_block:block-03",
    ),
]


def place_of(scope: UnavailabilityScope | None, name: str | None, domain: str | None) -> tuple[str, str]:
    """Return the scope and the name of the place that a command is about. Raises BadParameter unless the arguments name
    one place.
    """
    if domain is None:
        if scope is None or name is None:
            raise typer.BadParameter(f"name one place: SCOPE and NAME, or --domain {_FORM}", param_hint="SCOPE NAME")
        return scope.value, name
    if scope is not None:
        raise typer.BadParameter("leave it out, or leave SCOPE and NAME out: name one place", param_hint="--domain")
    kind, _, which = domain.partition(":")
    if not kind or not which:
        raise typer.BadParameter(f"{domain!r}: write {_FORM}", param_hint="--domain")
    return UnavailabilityScope.MSB.value if kind == MSB_KIND else kind, which


def require_alone(options: Mapping[str, object]) -> None:
    """Raise BadParameter if a command that ends events has an option of one that asks for them: option -> value."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter("leave it out: --end ends what is open at once", param_hint=option)


def open_events(client: Client, region: str, kind: str, scope: str, name: str) -> list[Json]:
    """Return the open events of a kind, planned or unplanned, with exactly this place."""
    found = client.items(EVENTS, region=region, open="true", kind=kind, limit=ITEMS_MAX)
    return [event for event in found if (event["scope"], event["scope_name"]) == (scope, name)]


def end_events(client: Client, region: str, kind: str, scope: str, name: str, output: Output) -> None:
    """End the open events of a place, and say which."""
    found = open_events(client, region, kind, scope, name)
    events = [client.post(f"{EVENTS}/{event['unavailability_event_id']}/end") for event in found]
    if output is Output.JSON:
        print_json({"items": events})
    elif not events:
        say(f"{scope} {name}: no open {kind} event")
    else:
        ids = ", ".join(str(event["unavailability_event_id"]) for event in events)
        say(f"{scope} {name}: event{'s' * (len(events) > 1)} {ids} {'has' if len(events) == 1 else 'have'} ended")
