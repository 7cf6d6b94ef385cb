"""Ask for versions of a class of the RRU catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import ApiProblem, Client, Json
from services.cli.output import Output, print_json, say

ClassArgument = Annotated[str, typer.Argument(metavar="CLASS", help="the class of workload")]
ReferenceOption = Annotated[
    str | None, typer.Option(metavar="TYPE", help="hardware type whose RRU is 1; for the first class of a region")
]
WhyOption = Annotated[str | None, typer.Option("--reason", help="why; for the approver and the history")]


def ask(
    client: Client,
    region: str,
    name: str,
    rru: Mapping[str, float],
    version: int,
    *,
    reference: str | None,
    reason: str | None,
    output: Output,
) -> None:
    """Propose the version after `version` of a class, and print the approval that it waits for."""
    given = {"rru": dict(rru), "reference": reference, "reason": reason}
    body = {key: value for key, value in given.items() if value is not None}
    told(client.put(class_path(region, name), body, generation=version), output)


def told(approval: Json, output: Output) -> None:
    """Print the approval that a version waits for, and the changes of the version."""
    if output is Output.JSON:
        print_json(approval)
        return
    for cause in approval["causes"]:
        say(f"{cause['message']}.")
    say(f"It waits for `plimsoll approve {approval['approval_id']} --reason WHY`.")


def present_version(client: Client, region: str, name: str) -> Json:
    """Return the present version of a class. If the region has no such class, return a version 0 without values."""
    try:
        return client.get(class_path(region, name))
    except ApiProblem as problem:
        if problem.code != "not_found":
            raise
        return {"rru": {}, "version": 0}


def class_path(region: str, name: str) -> str:
    """Return the path of a class in the API."""
    return f"/v1/regions/{quote(region, safe='')}/rru-classes/{quote(name, safe='')}"
