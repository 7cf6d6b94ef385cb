"""A region in a few numbers, by statements that each read its servers at most once."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.region_summary import HardwareTypeSummary, RegionSummary
from libs.store.capacity.coverage import SHORT, coverage_query
from libs.store.capacity.readiness import load_region_readiness
from libs.store.capacity.readiness_history import load_worst
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.database import Transaction
from libs.store.platform.load_figures import load_last_solves

WORST_MAX = 10
"""Reservations that a summary names."""

_BY_TYPE = f"""
    SELECT name AS hardware_type, counts.* FROM hardware_types JOIN (
        SELECT hardware_type_id, count(*) AS servers, count(target_reservation_id) AS bound,
               count(*) FILTER (WHERE target_reservation_id IS NULL AND unavailability <> 'unplanned'
                                AND NOT {LEAVING}) AS free,
               count(*) FILTER (WHERE in_use) AS in_use,
               count(*) FILTER (WHERE current_reservation_id IS DISTINCT FROM target_reservation_id) AS to_move,
               count(*) FILTER (WHERE unavailability = 'unplanned') AS unavailable,
               count(*) FILTER (WHERE unavailability = 'planned') AS in_maintenance
        FROM servers WHERE region_id = :region_id AND decommissioned_at IS NULL GROUP BY 1
    ) AS counts USING (hardware_type_id) ORDER BY name COLLATE "C" """

_COVERED = f"""
    WITH wanted AS (
        SELECT reservation_id, kind, capacity_rru, survives_msb_loss FROM reservations
        WHERE region_id = :region_id AND deleted_at IS NULL AND NOT scheduled
    ), {coverage_query("target")}
    SELECT count(*) AS reservations,
           count(*) FILTER (WHERE {SHORT}) AS degraded,
           coalesce(sum(coverage.capacity_rru), 0) AS capacity_rru,
           coalesce(sum(worst_msb_rru) FILTER (WHERE survives_msb_loss), 0) AS embedded_buffer_rru,
           coalesce(sum(total_rru) FILTER (WHERE kind = 'shared_buffer'), 0) AS shared_buffer_rru,
           coalesce(sum(missing_rru) FILTER (WHERE {SHORT}), 0) AS shortfall_rru
    FROM coverage JOIN wanted USING (reservation_id)"""


def load_region_summary(tx: Transaction, region_name: str) -> RegionSummary:
    """Return the counts of a region's servers and buffers. Raises NotFound."""
    region_id = load_region(tx, region_name).region_id
    by_type = tx.execute(sa.text(_BY_TYPE), {"region_id": region_id}).mappings()
    covered = tx.execute(sa.text(_COVERED), {"region_id": region_id}).mappings().one()
    types = tuple(
        HardwareTypeSummary(**{key: value for key, value in row.items() if key != "hardware_type_id"})
        for row in by_type
    )
    return RegionSummary(
        hardware_types=types,
        **covered,
        readiness=load_region_readiness(tx, [region_name]).get(region_name),
        worst=load_worst(tx, region_id, most=WORST_MAX),
        churn=next((solve.churn for solve in load_last_solves(tx, region_name)), None),
    )
