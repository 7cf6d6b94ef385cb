"""`plimsoll get NOUN [ID]`: show objects of any noun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, note, plural, print_document, print_json, print_rows

COLUMNS: dict[Noun, dict[str, str]] = {
    Noun.REGIONS: {"NAME": "name", "PLAN": "target_plan_id", "CREATED": "created_at", "AMISS": "amiss"},
    Noun.HARDWARE_TYPES: {"NAME": "name", "ATTRIBUTES": "attributes"},
    Noun.RESERVATIONS: {
        "ID": "reservation_id",
        "NAME": "name",
        "REGION": "region",
        "OWNER": "owner",
        "PHASE": "status.phase",
        "CAPACITY": "spec.capacity_rru",
        "HELD": "status.held_rru",
        "TARGET": "status.target_rru",
        "BOOKED": "status.booked_servers",
        "SHORT": "status.target.shortfall_rru",
        "WHOLE 30D": "status.availability_30d%",
    },
    Noun.CAPACITY_REQUESTS: {
        "ID": "capacity_request_id",
        "KIND": "kind",
        "RESERVATION": "reservation",
        "REGION": "region",
        "OWNER": "owner",
        "CAPACITY": "spec.capacity_rru",
        "PHASE": "status.phase",
        "REASON": "status.reason",
    },
    Noun.APPROVALS: {
        "ID": "approval_id",
        "REGION": "region",
        "RESERVATION": "reservation",
        "ASKED BY": "asked_by",
        "STATUS": "status",
        "CAUSES": "causes.message",
        "WHY": "given_reason",
    },
    Noun.QUOTAS: {
        "REGION": "region",
        "OWNER": "owner",
        "LIMIT": "limit_cost_units",
        "USED": "used_cost_units",
        "PENDING": "pending_cost_units",
    },
    Noun.SERVERS: {
        "ID": "server_id",
        "NAME": "name",
        "REGION": "region",
        "MSB": "msb",
        "RACK": "rack",
        "DOMAINS": "domains",
        "TYPE": "hardware_type",
        "CURRENT": "current_reservation",
        "TARGET": "target_reservation",
        "IN USE": "in_use",
        "DOWN": "unavailability",
    },
    Noun.UNAVAILABILITY_EVENTS: {
        "ID": "unavailability_event_id",
        "REGION": "region",
        "SCOPE": "scope",
        "NAME": "scope_name",
        "KIND": "kind",
        "REASON": "reason",
        "FROM": "starts_at",
        "UNTIL": "ends_at",
        "ENDED": "ended_at",
        "STATE": "state",
        "PLACE": "answer.position",
        "BEGINS": "answer.begins_at",
    },
    Noun.RETIREMENTS: {
        "ID": "retirement_id",
        "REGION": "region",
        "SCOPE": "scope",
        "NAME": "scope_name",
        "KIND": "kind",
        "TO": "to_hardware_type",
        "DUE": "due_at",
        "CONDITION": "condition",
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
        "REQUEST": "capacity_request_id",
        "RUN": "solve_run_id",
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
        "WAITS FOR": "waits.waits_for",
        "CREATED": "created_at",
    },
    Noun.WAITS: {
        "REGION": "region",
        "RESERVATION": "reservation",
        "SERVERS": "servers",
        "SINCE": "since",
        "LEVEL": "level",
        "LACKS": "lacks_rru",
        "FOR": "waits_for",
        "WHY": "message",
    },
    Noun.LOANS: {
        "ID": "server_id",
        "REGION": "region",
        "SERVER": "server",
        "RESERVATION": "reservation",
        "HOME": "home",
        "SINCE": "since",
        "UNTIL": "until",
        "RECALLED": "recalled_at",
        "STATE": "state",
    },
    Noun.URGENT_DEPARTURES: {
        "ID": "server_id",
        "REGION": "region",
        "SERVER": "server",
        "RESERVATION": "reservation",
        "BY": "marked_by",
        "SINCE": "marked_at",
        "WHY": "reason",
    },
    Noun.MOVERS: {
        "REGION": "region",
        "MOVES": "moves_max",
        "MSB SHARE": "msb_share_max",
        "MSB MOVES": "msb_moves_max",
        "MSB STARTS/MIN": "msb_starts_per_minute",
        "LOAN S": "loan_s_max",
        "PAUSED": "paused_at",
        "WHY": "paused_reason",
        "NEXT PROBE": "actuator_probe_at",
    },
    Noun.IMPORTS: {
        "ID": "import_id",
        "REGION": "region",
        "MODE": "mode",
        "STATUS": "status",
        "BY": "proposed_by",
        "NEW": "counts.add",
        "CHANGED": "counts.change",
        "LEAVING": "counts.retire",
        "REFUSED": "counts.refuse",
        "CREATED": "created_at",
    },
    Noun.MSB_LOSSES: {
        "REGION": "region",
        "MSB": "msb",
        "SERVERS": "servers",
        "IN USE": "in_use",
        "DOWN": "down",
        "RESERVATIONS": "reservations",
        "SHORT": "reservations_short",
        "BROKEN": "broken",
        "RRU MISSING": "missing_rru",
        "WHO": "short.reservation",
    },
    Noun.CHANCES: {
        "REGION": "region",
        "RESERVATION": "reservation",
        "DAYS": "days",
        "CHANCE": "chance%",
        "PROMISED": "capacity_rru",
        "MISSING": "missing_rru",
        "FATAL MSBS": "fatal_msbs",
        "FATAL PAIRS": "fatal_pairs",
        "LOSSES SEEN": "msb_losses",
        "DAYS WATCHED": "watched_days",
    },
    Noun.SPARES: {
        "REGION": "region",
        "TYPE": "hardware_type",
        "WANTED": "wanted",
        "USABLE": "usable",
        "DOWN": "down",
        "FAIL A DAY": "failures_per_day",
        "REPAIR DAYS": "repair_days",
        "EMPTY IN DAYS": "runs_out_days",
        "LASTS DAYS": "lasts_days",
    },
    Noun.SERVER_COUNTS: {
        "REGION": "region",
        "DATACENTER": "datacenter",
        "MSB": "msb",
        "TYPE": "hardware_type",
        "SERVERS": "servers",
        "BOUND": "bound",
        "FREE": "free",
        "IN USE": "in_use",
        "TO MOVE": "to_move",
        "DOWN": "down",
        "MAINTENANCE": "maintenance",
    },
    Noun.SUPPLY: {
        "REGION": "region",
        "AT": "at",
        "TYPE": "hardware_type",
        "SERVERS": "servers",
        "EMBEDDED": "embedded_buffer",
        "SHARED": "shared_buffer",
        "RETIRED": "retired",
        "RETURNED": "returned",
        "DELIVERED": "delivered",
        "USABLE": "usable",
    },
    Noun.AUDIT_ENTRIES: {
        "AT": "at",
        "ACTOR": "actor",
        "ACTION": "action",
        "SUBJECT": "subject_kind",
        "SUBJECT ID": "subject_id",
        "NAME": "subject",
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


OPTIONAL = {"domains"}
"""Columns that are shown only if an item has a value."""


def columns_of(noun: Noun, items: Sequence[Json]) -> dict[str, str]:
    """Return the columns of a table of `items`: heading -> path. A column of OPTIONAL needs an item with a value."""
    shown = COLUMNS[noun].items()
    return {heading: path for heading, path in shown if path not in OPTIONAL or any(item.get(path) for item in items)}


FILTERS: dict[Noun, dict[str, str]] = {
    Noun.SERVERS: {
        "type": "hardware_type",
        "current": "current_reservation",
        "target": "target_reservation",
        "down": "unavailability",
    },
    Noun.AUDIT_ENTRIES: {"subject": "subject_kind"},
}
"""The filters of each noun that the interface names differently: column heading in lower case -> filter."""

OF_REGION = {
    Noun.IMPORTS: "items",
    Noun.MSB_LOSSES: "items",
    Noun.CHANCES: "items",
    Noun.SPARES: "items",
    Noun.SERVER_COUNTS: "items",
    Noun.SUPPLY: "hardware_types",
}
"""Nouns that are listed per region, below /v1/regions/NAME -> the field of the list."""

NAMED = {Noun.RESERVATIONS: "reservation_id", Noun.SERVERS: "server_id"}
"""Nouns with names that may repeat -> the field of their id."""


def _noun(text: str) -> Noun:
    """Return the noun of a text, in plural or singular. Raises BadParameter that lists the nouns."""
    for noun in Noun:
        if text in (noun.value, noun.value.removesuffix("s"), noun.value.removesuffix("ies") + "y"):
            return noun
    raise typer.BadParameter(f"no noun {text!r}: there are {', '.join(Noun)}")


def get(
    what: Annotated[str, typer.Argument(metavar="NOUN", help=f"what to show: {', '.join(Noun)}")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="ID", help="one of them, by id or name; leave out for a list")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            metavar="FIELD=VALUE",
            help="only matching items; repeatable. FIELD is a column; the answer to a wrong one lists the right ones",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="FIELD",
            help="order of reservations, such as held_rru for the least first, or -held_rru for the most",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="items of a list, at most")] = 100,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one object, or a list of them."""
    noun = _noun(what)
    client = Client.connect()
    if identifier is not None:
        document = _one(client, noun, identifier)
        (print_json if output is Output.JSON else print_document)(document)
        return
    filters = dict(_pair(text, FILTERS.get(noun, {})) for text in where or [])
    if order is not None:
        filters["order"] = order
    found = list(islice(_items(client, noun, filters), limit + 1))
    items = found[:limit]
    if output is Output.JSON:
        print_json({"items": items})
    else:
        rows = [_with_amiss(item) for item in items] if noun is Noun.REGIONS else items
        print_rows(rows, columns_of(noun, items))
    if len(found) > limit:
        shown = plural(limit, "item is", "items are")
        note(f"Only {shown} shown, and there are more: --limit N shows N, --where narrows them down.")


def _items(client: Client, noun: Noun, filters: dict[str, str]) -> Iterator[Json]:
    """Yield all objects of a noun, also of a noun that is listed per region."""
    if noun not in OF_REGION:
        yield from client.items(f"/v1/{noun}", **filters)
        return
    wanted = filters.pop("region", None)
    for region in [wanted] if wanted else [found["name"] for found in client.items("/v1/regions")]:
        path = f"/v1/regions/{quote(region, safe='')}/{noun}"
        if noun is Noun.IMPORTS:
            yield from client.items(path, **filters)
            continue
        found = client.get(path, **filters)
        whole = {name: value for name, value in found.items() if not isinstance(value, list)}
        yield from ({**whole, **item} for item in found[OF_REGION[noun]])


def _one(client: Client, noun: Noun, identifier: str) -> Json:
    """Return one object of a noun, by id or name. Raises CliFailure unless exactly one exists."""
    if noun is Noun.IMPORTS:  # an import is found below its region, and its id does not name the region
        for found in _items(client, noun, {}):
            if str(found["import_id"]) == identifier:
                return found
        raise CliFailure(f"no import {identifier}: `plimsoll get imports` lists their ids")
    if noun in OF_REGION:
        raise CliFailure(f"{noun} have no ids: `plimsoll get {noun} --where region=REGION` lists those of a region")
    if noun is Noun.QUOTAS:
        raise CliFailure(
            f"a quota belongs to an owner in a region: `plimsoll quota {identifier} --region REGION` shows it"
        )
    if noun in NAMED and not identifier.isdecimal():
        identifier = id_of(client, noun, identifier)
    return client.get(f"/v1/{noun}/{quote(identifier, safe='')}")


def _with_amiss(region: Json) -> Json:
    """Return a region with the reasons of its unhealthy conditions."""
    return region | {"amiss": [one["reason"] for one in region["conditions"] if one["status"] == "False"]}


def id_of(client: Client, noun: Noun, name: str) -> str:
    """Return the id of a name. Raises CliFailure unless exactly one object has the name."""
    found = [str(item[NAMED[noun]]) for item in client.items(f"/v1/{noun}", name=name)]
    if len(found) != 1:
        many = f"{len(found)} are called" if found else "none is called"
        raise CliFailure(f"{noun}: {many} {name}; `plimsoll get {noun}` lists their ids")
    return found[0]


def _pair(text: str, renamed: Mapping[str, str]) -> tuple[str, str]:
    """Return a filter from FIELD=VALUE. FIELD is a column or a filter of the interface, in any case."""
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text!r}: write FIELD=VALUE, such as region=west", param_hint="--where")
    name = re.sub(r"[ -]", "_", name.strip().lower())
    return renamed.get(name, name), value
