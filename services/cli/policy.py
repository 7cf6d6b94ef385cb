"""`plimsoll policy`: show or change the solver's weights in a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.output import Output, OutputOption, note, print_document, print_json, say
from services.cli.specs import number_of, refuse_twice

_SWITCH = {"true": True, "false": False, "yes": True, "no": False}
"""How a switch is written. Tables show yes and no."""


def policy(
    region: Annotated[str, typer.Argument(help="the region's name")],
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="such as buffer_cost=8; repeatable")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="why; for the audit trail, and for the approver of another buffer")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change the solver's weights. A change may wait for an approval. It ends an open roll-out."""
    client = Client.connect()
    path = f"/v1/regions/{quote(region, safe='')}"
    before = found = client.get(path)
    if change:
        body: Json = {"policy": settings(change, "--set")}
        body |= {} if reason is None else {"reason": reason}
        found = client.patch(path, body, generation=before["generation"])
        _tell_ended(before, found)
    if output is Output.JSON:
        print_json(found if "approval_id" in found else found["policy"])
    elif "approval_id" in found:
        waits = (
            f"It waits for an approval: `plimsoll approve {found['approval_id']} --reason ...`, or `plimsoll reject`."
        )
        say(f"{region}: nothing is changed yet. {waits}")
    else:
        print_document(found["policy"])


def _tell_ended(before: Json, after: Json) -> None:
    """Say that the change ended a roll-out, or that it will if it is approved."""
    if "approval_id" in after:
        ends = [cause["message"] for cause in after["causes"] if cause["reason"] == "EndsRollout"]
        if ends:
            note(f"Approved, {ends[0]}.")
        return
    was, now = (
        {one["type"]: one for one in region["conditions"]}.get("PolicyRollout", {}) for region in (before, after)
    )
    if now.get("reason") == "Superseded" and was.get("reason") != "Superseded":
        note_ended_rollout(now["numbers"]["policy_rollout_id"])


def note_ended_rollout(number: int) -> None:
    """Say that a change of the policy ended a roll-out."""
    note(f"This ended roll-out {number}, which started from the policy before: `plimsoll rollout show` has it.")


def settings(texts: Sequence[str], option: str) -> dict[str, bool | float]:
    """Parse NAME=VALUE, each name once. Raises BadParameter with an example of the form."""
    form, found = "NAME=VALUE, such as buffer_cost=8 or fix_first=false", dict[str, bool | float]()
    for text in texts:
        name, _, value = text.partition("=")
        if not name or name == text:
            raise typer.BadParameter(f"{text!r}: write {form}", param_hint=option)
        refuse_twice(name, found, option)
        found[name] = _SWITCH[value] if value in _SWITCH else number_of(value, float, option, form)
    return found
