"""Send capacity requests, wait for decisions, and print them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from libs.domain.words import cost_units
from services.cli.client import Client, Json
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure
from services.cli.output import Output, OutputOption, print_json, say, stderr, stdout
from services.cli.specs import Spec, takes_spec

DECIDED = frozenset({"granted", "degraded", "rejected", "withdrawn", "scheduled", "awaiting_approval"})
"""Phases that a request does not leave within seconds."""
_COLOURS = {
    "granted": "green",
    "scheduled": "green",
    "degraded": "yellow",
    "awaiting_approval": "yellow",
    "rejected": "red",
}

_OPEN = frozenset({"submitted", "assessing", "awaiting_approval"})
"""Phases in which the requester may still change or withdraw the request."""

RegionOption = Annotated[str, typer.Option("--region", "-r", envvar="PLIMSOLL_REGION", help="the region's name")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="show the decision without changing anything")]
ReasonOption = Annotated[str | None, typer.Option(help="why; for the audit trail, and for the approver")]
RequestId = Annotated[int, typer.Argument(metavar="ID", help="as in `plimsoll get capacity-requests`")]
WaitOption = Annotated[
    float, typer.Option("--wait", min=0.0, metavar="SECONDS", help="how long to wait for the answer; 0: no wait")
]


@takes_spec
def create(
    name: Annotated[str, typer.Argument(help="of the new reservation")],
    region: RegionOption,
    owner: Annotated[str, typer.Option(help="the responsible team")],
    spec: Spec,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    wait: WaitOption = 60.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Request a reservation: an amount of RRU (or servers) that remains available when an MSB fails."""
    body = {"kind": "create", "region": region, "reservation": name, "owner": owner, "spec": spec}
    send(_with(body, reason=reason), dry_run=dry_run, wait_s=wait, output=output)


@takes_spec
def resize(
    name: Annotated[str, typer.Argument(help="of the reservation")],
    region: RegionOption,
    spec: Spec,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    wait: WaitOption = 60.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Request another size or other terms. Omitted options stay."""
    body = {"kind": "resize", "region": region, "reservation": name, "spec": spec}
    send(_with(body, reason=reason), dry_run=dry_run, wait_s=wait, output=output)


def delete(
    name: Annotated[str, typer.Argument(help="of the reservation")],
    region: RegionOption,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Return a reservation: its servers become free."""
    body = {"kind": "delete", "region": region, "reservation": name}
    send(_with(body, reason=reason), dry_run=dry_run, wait_s=60.0, output=output)


@takes_spec
def amend(
    identifier: RequestId,
    spec: Spec,
    reason: ReasonOption = None,
    wait: WaitOption = 60.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Amend an undecided request. Omitted options stay."""
    client = Client.connect()
    path = f"/v1/capacity-requests/{identifier}"
    body = _with({"spec": spec}, reason=reason)
    request = client.patch(path, body, generation=client.get(path)["generation"])
    _tell(_await(client, request, wait), dry_run=False, output=output)


def withdraw(identifier: RequestId, reason: ReasonOption = None, output: OutputOption = Output.TABLE) -> None:
    """Withdraw an undecided request."""
    client = Client.connect()
    path = f"/v1/capacity-requests/{identifier}"
    request = client.delete(path, generation=client.get(path)["generation"], reason=reason)
    assert request is not None
    _tell(request, dry_run=False, output=output)


def send(body: Json, *, dry_run: bool, wait_s: float, output: Output) -> None:
    """Send a request, wait for its answer and print it. Raises CliFailure of status 2 if it is rejected."""
    client = Client.connect()
    request = client.post("/v1/capacity-requests" + ("?dry_run=true" if dry_run else ""), body)
    if not dry_run:
        request = _await(client, request, wait_s)
    _tell(request, dry_run=dry_run, output=output)


def _with(body: Json, *, reason: str | None) -> Json:
    return body if reason is None else {**body, "reason": reason}


def _await(client: Client, request: Json, wait_s: float) -> Json:
    """Return the request once it is in one of the phases DECIDED, or after `wait_s` seconds."""
    if wait_s <= 0 or _phase(request) in DECIDED:
        return request
    with stderr.status(f"{request['kind']} {request['reservation']}: waiting for the answer"):
        return client.wait(
            f"/v1/capacity-requests/{request['capacity_request_id']}",
            lambda found: _phase(found) in DECIDED,
            s_max=wait_s,
            each=lambda found: None,
        )


def _tell(request: Json, *, dry_run: bool, output: Output) -> None:
    phase, status = _phase(request), request["status"]
    if output is Output.JSON:
        print_json(request)
    else:
        colour = _COLOURS.get(phase, "default")
        would = "would be " if dry_run else ""
        word = "deleted" if (request["kind"], phase) == ("delete", "granted") else phase
        stdout.print(f"{request['reservation']}: {would}[{colour}]{word}[/{colour}] ({status['reason']})")
        say(status["message"])
        if dry_run:
            _tell_room(phase, status["numbers"])
            _tell_ways(request["ways_out"])
        if phase in _OPEN and not dry_run:
            number = request["capacity_request_id"]
            say(f"Until it is decided, `plimsoll amend {number}` changes it and `plimsoll withdraw {number}` ends it.")
    if phase == "rejected":
        raise CliFailure("not possible as asked", status=EXIT_NOT_POSSIBLE)


def _tell_room(phase: str, numbers: Json) -> None:
    """Print the cost units of a request that was not sent, and the most that it could be."""
    if "cost_units" in numbers:
        left = numbers.get("quota_left_cost_units")
        quota = "" if left is None else f"; its owner's quota would have {left:,.6g} left"
        say(f"It would count {cost_units(numbers['cost_units'])}{quota}.")
    if "coverable_rru" in numbers and phase not in ("degraded", "rejected"):  # then the message says so
        say(f"Its own and the free servers could cover at most {numbers['coverable_rru']:,.6g} RRU now.")


def _tell_ways(ways: list[Json]) -> None:
    """Print the changes of a request that would get a better answer."""
    for one in ways:
        change = ", ".join(f"{name} {_plain(value)}" for name, value in one["change"].items())
        say(f"With {change} it would be {one['phase'].replace('_', ' ')}, for {cost_units(one['cost_units'])}.")


def _plain(value: object) -> str:
    """Return a value of a spec in words."""
    words = {"True": "true", "False": "false", "None": "none", "[]": "empty"}
    return f"{value:,.6g}" if isinstance(value, float) else words.get(str(value), str(value))


def _phase(request: Json) -> Any:
    return request["status"]["phase"]
