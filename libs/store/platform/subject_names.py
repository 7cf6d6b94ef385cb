"""The names of the subjects of audit entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import sqlalchemy as sa

from libs.store.platform.database import Transaction
from libs.store.tables import (
    approvals,
    capacity_events,
    capacity_requests,
    datacenters,
    domains,
    freezes,
    hardware_types,
    moves,
    msbs,
    plan_executions,
    plan_runs,
    policy_rollouts,
    racks,
    regions,
    reservations,
    retirements,
    servers,
    sessions,
    simulations,
    solve_runs,
    tokens,
    unavailability_events,
)

_EVENTS, _RETIREMENTS = unavailability_events.c, retirements.c


def _minute(column: sa.Column[datetime]) -> sa.ColumnElement[str]:
    """Return SQL for the minute of a time, as people name things that have no other name."""
    return sa.func.to_char(sa.func.timezone("UTC", column), 'YYYY-MM-DD HH24:MI "UTC"')


_NAMES: dict[str, sa.Select[tuple[int, str]]] = {
    "approval": sa.select(approvals.c.approval_id, capacity_requests.c.reservation_name).join(
        capacity_requests, capacity_requests.c.capacity_request_id == approvals.c.capacity_request_id
    ),
    "capacity_event": sa.select(
        capacity_events.c.capacity_event_id,
        sa.func.concat_ws(
            " ",
            sa.func.coalesce(capacity_events.c.service, capacity_events.c.product),
            "in",
            sa.func.coalesce(capacity_events.c.region, capacity_events.c.to_region),
        ),
    ),
    "capacity_request": sa.select(capacity_requests.c.capacity_request_id, capacity_requests.c.reservation_name),
    "freeze": sa.select(freezes.c.freeze_id, sa.func.coalesce(freezes.c.name, freezes.c.scope)),
    "hardware_type": sa.select(hardware_types.c.hardware_type_id, hardware_types.c.name),
    "move": sa.select(moves.c.move_id, servers.c.name).join(servers, servers.c.server_id == moves.c.server_id),
    "plan_execution": sa.select(plan_executions.c.plan_execution_id, _minute(plan_executions.c.created_at)),
    "plan_run": sa.select(plan_runs.c.plan_run_id, _minute(plan_runs.c.created_at)),
    "policy_rollout": sa.select(policy_rollouts.c.policy_rollout_id, regions.c.name).join(
        regions, regions.c.region_id == policy_rollouts.c.region_id
    ),
    "region": sa.select(regions.c.region_id, regions.c.name),
    "reservation": sa.select(reservations.c.reservation_id, reservations.c.name),
    "retirement": sa.select(_RETIREMENTS.retirement_id, sa.func.coalesce(servers.c.name, racks.c.name))
    .outerjoin(servers, servers.c.server_id == _RETIREMENTS.server_id)
    .outerjoin(racks, racks.c.rack_id == _RETIREMENTS.rack_id),
    "server": sa.select(servers.c.server_id, servers.c.name),
    "session": sa.select(sessions.c.session_id, sa.func.coalesce(tokens.c.name, sessions.c.person)).outerjoin(
        tokens, tokens.c.token_id == sessions.c.token_id
    ),
    "simulation": sa.select(
        simulations.c.simulation_id, sa.func.concat(regions.c.name, ", ", _minute(simulations.c.created_at))
    ).join(regions, regions.c.region_id == simulations.c.region_id),
    "solve_run": sa.select(
        solve_runs.c.solve_run_id, sa.func.concat(regions.c.name, ", ", _minute(solve_runs.c.started_at))
    ).join(regions, regions.c.region_id == solve_runs.c.region_id),
    "token": sa.select(tokens.c.token_id, tokens.c.name),
    "unavailability_event": sa.select(
        _EVENTS.unavailability_event_id,
        sa.func.coalesce(servers.c.name, racks.c.name, msbs.c.name, datacenters.c.name, domains.c.name),
    )
    .outerjoin(domains, domains.c.domain_id == _EVENTS.domain_id)
    .outerjoin(servers, servers.c.server_id == _EVENTS.server_id)
    .outerjoin(racks, racks.c.rack_id == _EVENTS.rack_id)
    .outerjoin(msbs, msbs.c.msb_id == _EVENTS.msb_id)
    .outerjoin(datacenters, datacenters.c.datacenter_id == _EVENTS.datacenter_id),
}
"""Kind of a subject -> its ids and names. A request has the name of its reservation, an event that of its place.
An event of the ledger has its service or product, and its region. A roll-out has its region. A run, an
execution and a simulation have the time at which they were begun or asked for. A session has its token.
"""


def load_subject_names(tx: Transaction, subjects: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Return the names of subjects, each a kind and an id, in one statement per kind. Those without one are missing."""
    ids: dict[str, set[int]] = defaultdict(set)
    for kind, subject_id in subjects:
        ids[kind].add(subject_id)
    found = {}
    for kind in sorted(ids.keys() & _NAMES.keys()):
        query = _NAMES[kind]
        key = query.selected_columns[0]
        for subject_id, name in tx.execute(query.where(key.in_(ids[kind]))):
            if name is not None:
                found[kind, int(subject_id)] = str(name)
    return found
