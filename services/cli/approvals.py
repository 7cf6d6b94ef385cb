"""Approve and reject changes, and set approval limits: `plimsoll approve`, `reject` and `limits`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from libs.domain.plan_execution import RejectKind
from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, print_document, print_json, say

ApprovalId = Annotated[int, typer.Argument(metavar="ID", help="as in `plimsoll get approvals -w status=pending`")]
WhyOption = Annotated[str, typer.Option("--reason", help="why; the requester reads it")]


def approve(identifier: ApprovalId, reason: WhyOption, output: OutputOption = Output.TABLE) -> None:
    """Approve a waiting change."""
    decide(identifier, "approve", {"reason": reason}, output)


def reject(
    identifier: ApprovalId,
    reason: WhyOption,
    kind: Annotated[RejectKind | None, typer.Option(help="of an action of a plan: the kind of the reason")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Reject a waiting change. A rejected action of a plan is skipped, with all that needs it."""
    decide(identifier, "reject", {"reason": reason} | ({} if kind is None else {"reject_kind": kind}), output)


def limits(
    region: Annotated[str, typer.Argument(help="the region's name")],
    size_cost_units: Annotated[
        float | None, typer.Option(min=0.0, help="a request that may hold more needs approval")
    ] = None,
    hardware_share: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="a larger share of a hardware type needs approval")
    ] = None,
    four_eyes: Annotated[bool | None, typer.Option(help="the requester cannot approve")] = None,
    policy_prices: Annotated[bool | None, typer.Option(help="every change of the policy needs approval")] = None,
    none: Annotated[bool, typer.Option("--none", help="remove all limits, except those given here")] = False,
    reason: Annotated[str | None, typer.Option(help="why; for the audit trail")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change the approval limits of a region. Omitted limits stay."""
    client = Client.connect()
    path = f"/v1/regions/{region}/approval-limits"
    found = client.get(path)
    given = {
        "size_cost_units": size_cost_units,
        "hardware_share": hardware_share,
        "four_eyes": four_eyes,
        "policy_prices": policy_prices,
    }
    change = {name: value for name, value in given.items() if value is not None}
    if change or none:
        kept = {} if none else {name: found[name] for name in given}
        body = {**kept, **change} | ({} if reason is None else {"reason": reason})
        found = client.put(path, body, generation=found["generation"])
    (print_json if output is Output.JSON else print_document)(found)


def decide(
    identifier: int, verb: Literal["approve", "reject", "edit", "take-over"], body: Json, output: Output
) -> None:
    """Decide on an approval as it is now, and print it."""
    client = Client.connect()
    path = f"/v1/approvals/{identifier}"
    found = client.post(f"{path}/{verb}", body, generation=client.get(path)["generation"])
    if output is Output.JSON:
        print_json(found)
        return
    request = found["capacity_request_id"]
    what = found["about"]
    if request is not None:
        what = f"capacity request {request} ({found['reservation']} of {found['owner']})"
    say(f"approval {identifier} of {what} is {found['status']}")
