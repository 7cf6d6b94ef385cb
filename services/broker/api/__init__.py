"""The broker's routes: one router per resource."""

from libs.web.serving import ServiceApi
from services.broker.api import (
    audit_entries,
    domain_losses,
    drain_schedules,
    failure_outlooks,
    hardware_types,
    imports,
    msb_losses,
    plans,
    policy_rollouts,
    region_files,
    region_history,
    region_power,
    region_supply,
    region_uplinks,
    regions,
    retirements,
    server_counts,
    servers,
    solve_schedules,
    type_counts,
    unavailability_events,
)

ROUTERS = (
    regions.router,
    server_counts.router,
    region_history.router,
    type_counts.router,
    domain_losses.router,
    msb_losses.router,
    failure_outlooks.router,
    drain_schedules.router,
    region_files.router,
    region_power.router,
    region_uplinks.router,
    region_supply.router,
    solve_schedules.router,
    imports.router,
    hardware_types.router,
    servers.router,
    unavailability_events.router,
    retirements.router,
    plans.router,
    policy_rollouts.router,
    audit_entries.router,
)

LARGE_BODIES = {
    "/v1/regions/{region}/import": region_files.IMPORT_BYTES_MAX,
    "/v1/regions/{region}/imports": imports.LIST_BYTES_MAX,
    "/v1/regions/{region}/power": region_power.POWER_BYTES_MAX,
    "/v1/regions/{region}/uplinks": region_uplinks.UPLINKS_BYTES_MAX,
}
API = ServiceApi(routers=ROUTERS, large_bodies=LARGE_BODIES)
