"""Read the replacements of lost servers of the last hours, from the plans that drew them."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.replacement_history import PastReplacement, ReplacementHistory
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers_hit import servers_hit
from libs.store.platform.database import Transaction

# A plan of replacements sends a lost server to the buffer that the spare one comes from. It does not record who
# replaces whom, so servers of one plan between the same two reservations are paired in their order. A server without a
# failure at that time was not lost: the plan took a replacement back. Nor was a failed one that leaves the buffer: it
# goes home, because its MSB was lost and the spare server is needed no more.
_PAIRS = f"""
    WITH changes AS (
        SELECT plan_id, plans.created_at, server_id, from_reservation_id, to_reservation_id
        FROM plans JOIN plan_changes USING (plan_id)
        WHERE plans.region_id = :region_id AND kind = 'replacement' AND plans.created_at > :since
          AND from_reservation_id IS NOT NULL AND to_reservation_id IS NOT NULL
    ), failures AS (
        SELECT server_id, rack_id, msb_id, datacenter_id, domain_id, starts_at, ended_at FROM unavailability_events
        WHERE region_id = :region_id AND kind = 'unplanned' AND (ended_at IS NULL OR ended_at > :since)
    ), {servers_hit("failures", "starts_at", "ended_at", among="SELECT server_id FROM changes")}, lost AS (
        SELECT plan_id, changes.created_at, server_id, from_reservation_id AS holder, to_reservation_id AS buffer,
               min(starts_at) AS failed_at,
               row_number() OVER (PARTITION BY plan_id, from_reservation_id, to_reservation_id ORDER BY server_id) AS n
        FROM changes JOIN hit USING (server_id)
        WHERE starts_at <= changes.created_at AND (ended_at IS NULL OR ended_at > changes.created_at)
          AND from_reservation_id NOT IN (
              SELECT reservation_id FROM reservations WHERE region_id = :region_id AND kind = 'shared_buffer')
        GROUP BY 1, 2, 3, 4, 5
    ), spares AS (
        SELECT plan_id, server_id AS spare_id, from_reservation_id AS buffer, to_reservation_id AS holder,
               row_number() OVER (PARTITION BY plan_id, to_reservation_id, from_reservation_id ORDER BY server_id) AS n
        FROM changes
    ), pairs AS (
        SELECT lost.*, spare_id, (
            SELECT min(finished_at) FROM moves
            WHERE moves.server_id = spare_id AND to_reservation_id = holder AND status = 'done'
              AND finished_at >= lost.created_at) AS joined_at
        FROM lost JOIN spares USING (plan_id, holder, buffer, n)
    )"""
_FIGURES = f"""
    {_PAIRS}, took AS (SELECT extract(epoch FROM joined_at - failed_at)::float AS took_s FROM pairs)
    SELECT count(*) AS drawn, count(took_s) AS joined,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY took_s) AS median_s, max(took_s) AS most_s
    FROM took"""
_LATEST = f"""
    {_PAIRS}
    SELECT servers.name AS server, spare.name AS spare, reservations.name AS reservation,
           hardware_types.name AS hardware_type, msbs.name AS msb, failed_at, pairs.created_at AS drawn_at, joined_at
    FROM pairs JOIN servers USING (server_id) JOIN servers AS spare ON spare.server_id = spare_id
    JOIN reservations ON reservation_id = holder JOIN racks ON racks.rack_id = servers.rack_id
    JOIN msbs USING (msb_id) JOIN hardware_types ON hardware_types.hardware_type_id = servers.hardware_type_id
    ORDER BY plan_id DESC, pairs.server_id DESC LIMIT :most"""


def load_replacement_history(tx: Transaction, region: str, *, since: datetime, most: int) -> ReplacementHistory:
    """Return the replacements that were drawn after `since`, with at most `most` of them one by one. Raises NotFound.

    The failure of a lost server is the earliest that was open when its spare one was drawn.
    """
    values = {"region_id": load_region(tx, region).region_id, "since": since}
    figures = tx.execute(sa.text(_FIGURES), values).mappings().one()
    latest = tx.execute(sa.text(_LATEST), {**values, "most": most}).mappings()
    return ReplacementHistory(**figures, latest=tuple(PastReplacement(**row) for row in latest))
