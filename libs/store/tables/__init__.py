"""The tables, as SQLAlchemy Core sees them. The schema itself is in migrations/; a test holds the two together.

Two habits run through it. A row that writers contend for carries a `generation`, raised by a trigger on every update:
no writer can forget it. What must never happen is made impossible here and not only in code: a server has one current
and one target column, both referring to a reservation of its own region, and at most one move under way.
"""

from libs.store.tables.capacity import (
    approval_limits,
    approvals,
    capacity_requests,
    quotas,
    reservation_affinity,
    reservation_rru,
    reservation_statuses,
    reservations,
)
from libs.store.tables.columns import metadata
from libs.store.tables.fleet import (
    datacenters,
    hardware_types,
    import_items,
    imports,
    msbs,
    racks,
    regions,
    retirements,
    servers,
    unavailability_events,
)
from libs.store.tables.moves import move_steps, movers, moves, region_conditions
from libs.store.tables.planner import (
    executed_changes,
    placement_lineage,
    placement_plan_files,
    placement_plans,
    plan_overrides,
    plan_runs,
    planning_input_versions,
    service_models,
)
from libs.store.tables.plans import plan_changes, plans, simulation_changes, simulations, solve_runs
from libs.store.tables.platform import (
    audit_entries,
    idempotency_keys,
    jobs,
    schedules,
    tallies,
    tokens,
    world_schedules,
)

__all__ = [
    "approval_limits",
    "approvals",
    "audit_entries",
    "capacity_requests",
    "datacenters",
    "executed_changes",
    "hardware_types",
    "idempotency_keys",
    "import_items",
    "imports",
    "jobs",
    "metadata",
    "move_steps",
    "movers",
    "moves",
    "msbs",
    "placement_lineage",
    "placement_plan_files",
    "placement_plans",
    "plan_changes",
    "plan_overrides",
    "plan_runs",
    "planning_input_versions",
    "plans",
    "quotas",
    "racks",
    "region_conditions",
    "regions",
    "reservation_affinity",
    "reservation_rru",
    "reservation_statuses",
    "reservations",
    "retirements",
    "schedules",
    "servers",
    "service_models",
    "simulation_changes",
    "simulations",
    "solve_runs",
    "tallies",
    "tokens",
    "unavailability_events",
    "world_schedules",
]
