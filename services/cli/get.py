"""`plimsoll get NOUN [ID]`: look at anything."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from services.cli.client import Client
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, print_document, print_json, print_rows, stderr


class Noun(StrEnum):
    """What there is to look at, as in /v1/NOUN."""

    REGIONS = "regions"
    HARDWARE_TYPES = "hardware-types"
    RESERVATIONS = "reservations"
    CAPACITY_REQUESTS = "capacity-requests"
    APPROVALS = "approvals"
    QUOTAS = "quotas"
    SERVERS = "servers"
    UNAVAILABILITY_EVENTS = "unavailability-events"
    RETIREMENTS = "retirements"
    SOLVE_RUNS = "solve-runs"
    SIMULATIONS = "simulations"
    PLANS = "plans"
    MOVES = "moves"
    AUDIT_ENTRIES = "audit-entries"
    TOKENS = "tokens"


COLUMNS: dict[Noun, dict[str, str]] = {
    Noun.REGIONS: {"NAME": "name", "TARGET PLAN": "target_plan_id", "GENERATION": "generation"},
    Noun.HARDWARE_TYPES: {"NAME": "name", "ATTRIBUTES": "attributes"},
    Noun.RESERVATIONS: {
        "ID": "reservation_id",
        "NAME": "name",
        "REGION": "region",
        "OWNER": "owner",
        "KIND": "kind",
        "CAPACITY": "spec.capacity_rru",
        "PHASE": "status.phase",
        "NOW": "status.current.total_rru",
        "SHORT NOW": "status.current.shortfall_rru",
        "PLANNED": "status.target.total_rru",
        "SHORT": "status.target.shortfall_rru",
    },
    Noun.CAPACITY_REQUESTS: {
        "ID": "capacity_request_id",
        "KIND": "kind",
        "RESERVATION": "reservation",
        "CAPACITY": "spec.capacity_rru",
        "PHASE": "status.phase",
        "REASON": "status.reason",
        "MESSAGE": "status.message",
    },
    Noun.APPROVALS: {
        "ID": "approval_id",
        "REGION": "region",
        "KIND": "kind",
        "REQUEST": "capacity_request_id",
        "ASKED BY": "asked_by",
        "WHY": "given_reason",
        "CAUSES": "causes.message",
        "STATUS": "status",
        "DECIDED BY": "decided_by",
    },
    Noun.QUOTAS: {
        "REGION": "region",
        "OWNER": "owner",
        "LIMIT": "limit_rru",
        "USED": "used_rru",
        "PENDING": "pending_rru",
    },
    Noun.SERVERS: {
        "ID": "server_id",
        "NAME": "name",
        "MSB": "msb",
        "RACK": "rack",
        "TYPE": "hardware_type",
        "CURRENT": "current_reservation",
        "TARGET": "target_reservation",
        "IN USE": "in_use",
        "UNAVAILABILITY": "unavailability",
    },
    Noun.UNAVAILABILITY_EVENTS: {
        "ID": "unavailability_event_id",
        "SCOPE": "scope",
        "NAME": "scope_name",
        "KIND": "kind",
        "REASON": "reason",
        "FROM": "starts_at",
        "ENDED": "ended_at",
    },
    Noun.RETIREMENTS: {
        "ID": "retirement_id",
        "SCOPE": "scope",
        "NAME": "scope_name",
        "KIND": "kind",
        "TO": "to_hardware_type",
        "DUE": "due_at",
        "STATUS": "status",
        "CONDITION": "condition",
        "MESSAGE": "message",
    },
    Noun.SOLVE_RUNS: {
        "ID": "solve_run_id",
        "REGION": "region",
        "TRIGGER": "trigger",
        "STATUS": "status",
        "STARTED": "started_at",
        "GAP": "report.gap%",
        "SECONDS": "report.solve_s",
        "PLAN": "plan_id",
    },
    Noun.SIMULATIONS: {
        "ID": "simulation_id",
        "REGION": "region",
        "BY": "requested_by",
        "STATUS": "status",
        "CREATED": "created_at",
        "MOVES": "report.moves",
        "SHORT AFTER": "report.cost.after.shortfall_rru",
        "APPLIED": "applied_at",
    },
    Noun.PLANS: {
        "ID": "plan_id",
        "REGION": "region",
        "KIND": "kind",
        "PARENT": "parent_plan_id",
        "CHANGES": "changes",
        "LEFT ALONE": "left_alone",
        "CREATED": "created_at",
    },
    Noun.MOVES: {
        "ID": "move_id",
        "SERVER": "server",
        "FROM": "from_reservation",
        "TO": "to_reservation",
        "STATUS": "status",
        "STEP": "step",
        "ATTEMPT": "attempt",
        "NOTE": "note",
        "CREATED": "created_at",
    },
    Noun.AUDIT_ENTRIES: {
        "AT": "at",
        "ACTOR": "actor",
        "ACTION": "action",
        "SUBJECT": "subject_kind",
        "ID": "subject_id",
        "REASON": "reason",
    },
    Noun.TOKENS: {
        "ID": "token_id",
        "NAME": "name",
        "ROLE": "role",
        "OWNERS": "owners",
        "CREATED": "created_at",
        "REVOKED": "revoked_at",
    },
}


NAMED = {Noun.RESERVATIONS: "reservation_id", Noun.SERVERS: "server_id"}
"""What goes by a name that need not be unique, and the field of its id."""


def get(
    noun: Annotated[Noun, typer.Argument(help="what to look at")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="one of them, by id or name; leave out for a list")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", "-w", metavar="FIELD=VALUE", help="filter of the list; repeatable")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="items of a list, at most")] = 100,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one thing, or a list of them."""
    client = Client.connect()
    if identifier is not None and noun in NAMED and not identifier.isdecimal():
        identifier = id_of(client, noun, identifier)
    if identifier is not None:
        document = client.get(f"/v1/{noun}/{identifier}")
        (print_json if output is Output.JSON else print_document)(document)
        return
    filters = dict(_pair(text) for text in where or [])
    found = list(islice(client.items(f"/v1/{noun}", **filters), limit + 1))
    items = found[:limit]
    if len(found) > limit:
        stderr.print(f"the first {limit}; there are more: --limit", highlight=False)
    if output is Output.JSON:
        print_json({"items": items})
    else:
        print_rows(items, COLUMNS[noun])


def id_of(client: Client, noun: Noun, name: str) -> str:
    """The id behind a name. Raises CliFailure unless there is one such thing."""
    found = [str(item[NAMED[noun]]) for item in client.items(f"/v1/{noun}", name=name)]
    if len(found) != 1:
        many = f"{len(found)} are called" if found else "none is called"
        raise CliFailure(f"{noun}: {many} {name}; `plimsoll get {noun}` lists their ids")
    return found[0]


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text!r}: write FIELD=VALUE, such as region=west", param_hint="--where")
    return name, value
