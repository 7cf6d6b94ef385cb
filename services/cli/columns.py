"""The tables of `plimsoll get`: columns and filters of each noun."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from services.cli.client import Json
from services.cli.noun import Noun

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
        "GRANTED": "status.granted_rru",
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
        "ABOUT": "about",
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
        "ASKED FOR": "capacity_rru",
        "GRANTED": "granted_rru",
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


def waits(reservation: Json) -> bool:
    """Return whether a reservation was granted less than it asks for."""
    return bool(reservation["status"]["granted_rru"] < reservation["spec"]["capacity_rru"])


OPTIONAL: dict[str, Callable[[Json], bool]] = {
    "domains": lambda item: bool(item.get("domains")),
    "status.granted_rru": waits,
}
"""Path of a column that only some tables show -> whether an item has something to say there."""


def columns_of(noun: Noun, items: Sequence[Json]) -> dict[str, str]:
    """Return the columns of a table of `items`: heading -> path. A column of OPTIONAL needs an item for it."""
    shown = COLUMNS[noun].items()
    return {heading: path for heading, path in shown if path not in OPTIONAL or any(map(OPTIONAL[path], items))}


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

MOMENTS = frozenset({"at", "ended_after", "retired_until", "since", "until"})
"""The filters of all nouns that are times."""
