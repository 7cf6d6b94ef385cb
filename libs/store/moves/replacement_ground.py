"""Read a fingerprint of all that decides about replacements, so that an unchanged region is not read again."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.platform.database import Transaction

_NOT_DELETED = "deleted_at IS NULL AND NOT scheduled"


def _sum(record: str, rows: str) -> str:
    """Return the SQL of the number of some rows, and of a sum of hashes of what counts of each. Order is no matter."""
    return f"(SELECT concat(count(*), '/', sum(hash_record_extended({record}, 0))) FROM {rows})"


def _of_reservations(table: str, columns: str) -> str:
    """Return the fingerprint of a table that says more of the live reservations and their guests."""
    live = f"SELECT reservation_id FROM reservations WHERE region_id = :region_id AND {_NOT_DELETED}"
    return _sum(f"(reservation_id, {columns})", f"{table} WHERE reservation_id IN ({live})")


# Affinity, spread, preferences and readiness are left out: they decide only which spare server is drawn.
# `in_use` and current bindings change all the time. A loan counts, for a lent server that has joined is no spare one.
_SERVER = """(server_id, rack_id, hardware_type_id, target_reservation_id, unavailability,
              spare_for_reservation_id IS NOT NULL AND current_reservation_id IS DISTINCT FROM target_reservation_id)"""
_PARTS = (
    _sum("(policy, target_plan_id)", "regions WHERE region_id = :region_id"),
    _sum(_SERVER, "servers WHERE region_id = :region_id AND decommissioned_at IS NULL"),
    _sum("reservations", f"reservations WHERE region_id = :region_id AND {_NOT_DELETED}"),
    _of_reservations("reservation_rru", "hardware_type_id, rru"),
    _of_reservations("reservation_datacenters", "datacenter_id"),
    _of_reservations("reservation_domain_limits", "kind, domains_max, servers_max, share_max"),
    _of_reservations("reservation_resources", "resource, amount"),
    # an open event tells since when a server is down, and whether its whole MSB or datacenter is
    _sum(
        "(unavailability_event_id, starts_at, scope)",
        "unavailability_events WHERE region_id = :region_id AND ended_at IS NULL AND kind = 'unplanned' "
        "AND starts_at <= :now",
    ),
    # a spare server whose failed move waits for an operator replaces none
    _sum("(move_id, dead_letter)", "moves WHERE region_id = :region_id AND dead_letter = 'open'"),
    # a server that leaves is not held; an import may give servers other domains
    _sum("(retirement_id, status)", "retirements WHERE region_id = :region_id"),
    _sum("(import_id, status)", "imports WHERE region_id = :region_id"),
    _sum("(hardware_type_id, name, attributes)", "hardware_types"),
)
_GROUND = sa.text(f"SELECT concat_ws(' ', {', '.join(_PARTS)})")


def load_replacement_ground(tx: Transaction, region_id: int, *, now: datetime) -> str:
    """Return a fingerprint of what decides whether lost servers can be replaced. If it is the same, so is the decision,
    apart from what the time alone changes.

    PostgreSQL reads each server and sends none. `tx` must be that of the decision's snapshot, so that both are of one
    moment.
    """
    ground: str = tx.execute(_GROUND, {"region_id": region_id, "now": now}).scalar_one()
    return ground
