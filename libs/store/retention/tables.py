"""The list of all tables with their retention. A test fails if a table is missing here; docs/retention.md shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from libs.reconcile.jobs import (
    FORGET_AUDIT,
    FORGET_HISTORY,
    FORGET_IDEMPOTENCY_KEYS,
    FORGET_PLANNING,
    FORGET_SESSIONS,
    FORGET_TELEMETRY,
    SHADOW_SOLVE,
    SUM_SPANS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The table grows with time, and old rows are deleted.

    by      the kind of job that deletes them, or the process that does so
    after   the age at which it does: a variable of the environment, or a fixed time
    kept    rows that stay in spite of their age
    """

    by: str
    after: str
    kept: str = ""


@dataclass(frozen=True, slots=True)
class GoesWith:
    """Its rows belong to rows of another table, and are deleted with them."""

    table: str


@dataclass(frozen=True, slots=True)
class Stays:
    """The table does not grow with time alone, or must keep all of it; `why` says which."""

    why: str


Retention = Forgotten | GoesWith | Stays

_HISTORY, _TELEMETRY = "PLIMSOLL_HISTORY_KEPT_DAYS", "PLIMSOLL_TELEMETRY_KEPT_DAYS"
_PLACES = Stays("as many rows as the fleet has places")
_NOW = Stays("the present state: as many rows as things that are there")
_SET = Stays("settings: a row per thing that an operator set")
_OF_REGION = Forgotten(by=FORGET_HISTORY, after=_HISTORY)
_OF_PLANNING = Forgotten(by=FORGET_PLANNING, after=_HISTORY)
_OF_TELEMETRY = Forgotten(by=FORGET_TELEMETRY, after=_TELEMETRY)
_LEDGER = Stays("the record of all capacity that was decided; plans sum it from the first event on")

TABLES: Mapping[str, Retention] = MappingProxyType(
    {
        # fleet
        "regions": _PLACES,
        "datacenters": _PLACES,
        "msbs": _PLACES,
        "racks": _PLACES,
        "domains": _PLACES,
        "server_domains": Stays("a row per server that was ever bought and kind of domain"),
        "hardware_types": _PLACES,
        "power_limits": Stays("settings: a row per region"),
        "rack_uplinks": Stays("settings: a row per region"),
        "servers": Stays("a row per server that was ever bought: plans, moves and events name it"),
        "unavailability_events": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="events that have not ended"),
        "retirements": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="announced ones"),
        "imports": _OF_REGION,
        "import_items": GoesWith("imports"),
        # capacity
        "reservations": Stays("a row per reservation that was ever granted: requests, plans and history name it"),
        "reservation_rru": GoesWith("reservations"),
        "reservation_affinity": GoesWith("reservations"),
        "reservation_datacenters": GoesWith("reservations"),
        "reservation_domain_limits": GoesWith("reservations"),
        "reservation_resources": GoesWith("reservations"),
        "reservation_statuses": GoesWith("reservations"),
        "bookings": Stays("a row per reservation that has not begun: its beginning and its deletion remove the row"),
        "booked_servers": GoesWith("bookings"),
        "capacity_requests": Forgotten(
            by=FORGET_HISTORY,
            after=_HISTORY,
            kept="undecided and scheduled ones; the latest granted one of each live reservation, and the latest "
            "degraded one since; those of a plan that stays",
        ),
        "approvals": Forgotten(
            by=FORGET_HISTORY,
            after=_HISTORY,
            kept="pending ones, those of an open request, and approved falls below the promise; "
            "those of plan actions go with their execution",
        ),
        "excepted_reservations": GoesWith("approvals"),
        "excepted_servers": GoesWith("approvals"),
        "quotas": _SET,
        "approval_limits": _SET,
        "rru_versions": Stays("the catalogue with its past: a row per version that an operator approved"),
        "readiness_changes": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="the record in force at that time"),
        "readiness_watches": _NOW,
        "approval_reminders": Forgotten(by=FORGET_PLANNING, after=_HISTORY, kept="those to be sent"),
        # plans and moves
        "plans": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="the latest of a solve, and all since"),
        "plan_changes": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="those of the latest solve, and all since"),
        "solve_runs": Forgotten(
            by=FORGET_HISTORY, after=_HISTORY, kept="the latest, the latest that succeeded, and those of a plan"
        ),
        "simulations": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="at most the newest 100 that nobody applied"),
        "simulation_changes": GoesWith("simulations"),
        "policy_rollouts": Stays("a row per roll-out that an operator started"),
        "policy_comparisons": Forgotten(by=SHADOW_SOLVE, after="the newest 100 of a roll-out"),
        "moves": Forgotten(by=FORGET_HISTORY, after=_HISTORY, kept="moves under way, and open dead letters"),
        "move_steps": GoesWith("moves"),
        "movers": _SET,
        "urgent_departures": _NOW,
        "foretold_loans": _NOW,
        "departure_waits": _NOW,
        "reservation_waits": _NOW,
        "region_conditions": _NOW,
        # planning
        "planning_input_versions": Forgotten(
            by=FORGET_PLANNING, after=_HISTORY, kept="versions in force, and those of a run that stays"
        ),
        "plan_runs": Forgotten(
            by=FORGET_PLANNING,
            after=_HISTORY,
            kept="the target's, those under execution, and the latest PLIMSOLL_PLAN_EXECUTED_PLANS executed ones",
        ),
        "service_models": GoesWith("plan_runs"),
        "placement_plans": GoesWith("plan_runs"),
        "placement_plan_files": GoesWith("placement_plans"),
        "placement_lineage": Stays("one row"),
        "executed_changes": GoesWith("placement_plans"),
        "plan_overrides": Forgotten(by=FORGET_PLANNING, after=_HISTORY, kept="those in force"),
        "capacity_events": _LEDGER,
        "capacity_event_antecedents": _LEDGER,
        "capacity_event_changes": _LEDGER,
        # executions
        "plan_executions": GoesWith("placement_plans"),
        "execution_actions": GoesWith("plan_executions"),
        "execution_commands": GoesWith("plan_executions"),
        "gate_readings": GoesWith("plan_executions"),
        "freeze_overrides": GoesWith("plan_executions"),
        "execution_places": _NOW,
        "freezes": Forgotten(
            by=FORGET_PLANNING, after=_HISTORY, kept="those to come, and those that an execution that stays overrode"
        ),
        # telemetry
        "span_batches": Forgotten(by=SUM_SPANS, after="when summed"),
        "closed_traces": Forgotten(by=SUM_SPANS, after="the trace window"),
        **dict.fromkeys(
            ("demand_sums", "entry_sums", "span_sums", "call_sums", "trace_days", "usage_hours", "traffic_hours"),
            _OF_TELEMETRY,
        ),
        "usage_series": GoesWith("usage_hours"),
        "traffic_series": GoesWith("traffic_hours"),
        "traced_services": GoesWith("demand_sums"),
        "traced_products": GoesWith("demand_sums"),
        "metric_sources": _SET,
        "metric_pulls": GoesWith("metric_sources"),
        # platform
        "audit_entries": Forgotten(
            by=FORGET_AUDIT, after="PLIMSOLL_AUDIT_KEPT_DAYS", kept="all of them, unless PLIMSOLL_AUDIT_DIR is set"
        ),
        "tokens": Stays("the audit trail names revoked ones; no name is given twice"),
        "sessions": Forgotten(by=FORGET_SESSIONS, after="12 hours"),
        "idempotency_keys": Forgotten(by=FORGET_IDEMPOTENCY_KEYS, after="1 day"),
        "jobs": Forgotten(by="scheduler", after="1 day, or 30 days if failed"),
        "job_parts": Forgotten(by="scheduler", after="the end of the job that offers them"),
        "schedules": _NOW,
        "world_schedules": _NOW,
        "retention_clocks": Stays("a row per kind of retention and region"),
        "tallies": Stays("a row per metric and its labels, which no client can invent"),
    }
)
"""Table -> what is kept of it."""


def as_markdown() -> str:
    """Return TABLES as the table of docs/retention.md."""
    lines = ["| table | deleted by | after | stays |", "|---|---|---|---|"]
    for table, kept in TABLES.items():
        match kept:
            case Forgotten():
                after = f"`{kept.after}`" if kept.after.startswith("PLIMSOLL") else kept.after
                lines.append(f"| `{table}` | `{kept.by}` | {after} | {kept.kept} |")
            case GoesWith():
                lines.append(f"| `{table}` | with `{kept.table}` | | |")
            case Stays():
                lines.append(f"| `{table}` | | | {kept.why} |")
    return "\n".join(lines) + "\n"
