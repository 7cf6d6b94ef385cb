"""Read the lost servers and the spare servers of a region: the input of the decision on replacements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.arrays import Bools
from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import FREE
from libs.domain.replacement import BURST_LOST_SHARE, FailuresSnapshot
from libs.reconcile.jobs import DRAW_REPLACEMENTS
from libs.store.fleet.inventory_snapshot import IMPORTED
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers_hit import down_since
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.replacement_ground import load_replacement_ground
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue

_SWAPS_KEPT = timedelta(hours=1)
"""Age of the plans of replacements that may be taken back."""
# It uses the index of unavailable servers, so it costs nothing while there are none.
_LOST = """
    SELECT server_id FROM servers JOIN reservations ON reservation_id = target_reservation_id
    WHERE servers.region_id = :region_id AND unavailability = 'unplanned'
      AND reservations.kind = 'guaranteed' AND deleted_at IS NULL
    ORDER BY server_id"""
# Servers that plans of replacements bound as they are now, for no later plan has changed them.
_SWAPPED = """
    SELECT server_id, plan_id, from_reservation_id, extract(epoch FROM :now - plans.created_at) AS since_s,
           unavailability = 'unplanned' AS is_down
    FROM plans JOIN plan_changes USING (plan_id) JOIN servers USING (server_id)
    WHERE plans.region_id = :region_id AND plans.kind = 'replacement' AND plans.created_at > :swapped_after
      AND to_reservation_id = target_reservation_id AND decommissioned_at IS NULL
      AND NOT EXISTS (SELECT FROM plan_changes later
                      WHERE later.server_id = servers.server_id AND later.plan_id > plans.plan_id)
    ORDER BY server_id"""
# A domain of these servers that may count as lost, so that their replacements may be taken back.
_HARD_HIT = """
    SELECT msb_id FROM servers JOIN racks USING (rack_id)
    WHERE decommissioned_at IS NULL
      AND msb_id IN (SELECT msb_id FROM servers JOIN racks USING (rack_id) WHERE server_id = ANY(:server_ids))
    GROUP BY msb_id HAVING count(*) FILTER (WHERE unavailability = 'unplanned') > :share * count(*)
    UNION ALL
    SELECT domain_id FROM server_domains JOIN servers USING (server_id)
    WHERE server_domains.region_id = :region_id AND decommissioned_at IS NULL
      AND domain_id IN (SELECT domain_id FROM server_domains WHERE server_id = ANY(:server_ids))
    GROUP BY domain_id HAVING count(*) FILTER (WHERE unavailability = 'unplanned') > :share * count(*)
    LIMIT 1"""
# An event of an import says that a server was down when it was listed, and not since when.
_DOWN = f"""
    WITH open AS (
        SELECT server_id, rack_id, msb_id, datacenter_id, domain_id,
               CASE WHEN reason <> :imported THEN starts_at END AS starts_at
        FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now AND kind = 'unplanned'
    ), {down_since("open")}
    SELECT server_id, extract(epoch FROM :now - starts_at) AS down_s, with_place, event_domain_id
    FROM down ORDER BY server_id"""
_BUFFERS = """
    SELECT reservation_id, hardware_types.name AS hardware_type FROM reservations
    JOIN reservation_rru USING (reservation_id) JOIN hardware_types USING (hardware_type_id)
    WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL"""
# A lent server may be drawn until it joins: the plan ends its loan. The mover would not bring one with an open dead
# letter.
_SPARE = """
    SELECT server_id, (current_reservation_id IS NULL OR current_reservation_id = target_reservation_id)
        AND in_doubt_reservation_id IS NULL AND NOT unclean
        AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running') AS ready
    FROM servers
    WHERE target_reservation_id = ANY(:buffers) AND unavailability = 'none'
      AND (spare_for_reservation_id IS NULL OR current_reservation_id = target_reservation_id)
      AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open')
    ORDER BY server_id"""


def ask_for_replacements(tx: Transaction, region: str) -> None:
    """Ask for a draw of replacements: a lost server may have waited for one that a new plan made spare.

    `tx` must be a transaction of its own, after the plan is committed. Reports of failures hold servers and wait for
    the row of this job, so the plan's transaction could wait for them in turn. If a kill comes between the two, the
    schedule asks within a minute.
    """
    enqueue(tx, DRAW_REPLACEMENTS, region)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFailures:
    """The part of a region that says whether there is something to decide.

    ground   fingerprint of all that the decision rests on
    lost     ids of the lost servers, in order
    swapped  servers that plans of replacements bound within the last hour as they are now
    """

    region_name: str
    region_id: int
    now: datetime
    ground: str
    lost: Sequence[int]
    swapped: Sequence[sa.Row[Any]]


def find_failures(tx: Transaction, region_name: str, *, now: datetime) -> FoundFailures | None:
    """Return the reasons for a decision about a region; None, at almost no cost, if there is none.

    A decision is needed if a server is lost. It is also needed if a domain may be lost, and in it a server is down that
    was replaced within the last hour.

    `tx` must come from Database.snapshot(), so that all data are of one moment. Raises NotFound if the region does not
    exist.
    """
    region_id = load_region(tx, region_name).region_id
    values = {"region_id": region_id, "now": now}
    lost = tx.execute(sa.text(_LOST), values).scalars().all()
    swapped = tx.execute(sa.text(_SWAPPED), {**values, "swapped_after": now - _SWAPS_KEPT}).all()
    replaced = [row.server_id for row in swapped if row.is_down]
    hard_hit = sa.text(_HARD_HIT), {**values, "server_ids": replaced, "share": BURST_LOST_SHARE}
    if not lost and not (replaced and tx.execute(*hard_hit).first()):
        return None
    ground = load_replacement_ground(tx, region_id, now=now)
    return FoundFailures(
        region_name=region_name, region_id=region_id, now=now, ground=ground, lost=lost, swapped=swapped
    )


def load_failures(tx: Transaction, found: FoundFailures) -> FailuresSnapshot:
    """Return a region with its lost servers. `tx` must be the transaction that found them."""
    values = {"region_id": found.region_id, "now": found.now}
    down = tx.execute(sa.text(_DOWN), {**values, "imported": IMPORTED}).all()
    # A price only chooses among spare servers, so a process that does not know it replaces lost ones all the same.
    fleet = load_fleet_snapshot(tx, found.region_name, known_prices=True)
    buffers = {row.hardware_type: row.reservation_id for row in tx.execute(sa.text(_BUFFERS), values)}
    spare = tx.execute(sa.text(_SPARE), {"buffers": list(buffers.values())}).all()
    row_of = {int(reservation_id): row for row, reservation_id in enumerate(fleet.reservations.id)}

    buffer = np.array([row_of[buffers[t]] if t in buffers else FREE for t in fleet.hardware_types], np.int32)
    in_its_buffer = fleet.servers.lasting & (fleet.servers.target >= 0)
    in_its_buffer &= fleet.servers.target == buffer[fleet.servers.hardware_type]

    def rows(ids: Iterable[int]) -> NDArray[np.intp]:
        return np.searchsorted(fleet.servers.id, np.array([*ids], np.int64))

    def mask(ids: Iterable[int]) -> Bools:
        found = np.zeros(len(fleet.servers), bool)
        found[rows(ids)] = True
        return found

    swap, swap_from = np.zeros(len(fleet.servers), np.int64), np.full(len(fleet.servers), FREE, np.int32)
    down_s, swap_s = np.full((2, len(fleet.servers)), np.inf)
    known = [row for row in down if row.down_s is not None]
    down_s[rows(row.server_id for row in known)] = [float(row.down_s) for row in known]
    reported = [row for row in down if row.event_domain_id is not None]
    event_domain = np.full(len(fleet.servers), UNPLACED, np.int64)
    event_domain[rows(row.server_id for row in reported)] = [row.event_domain_id for row in reported]
    of_swaps = rows(row.server_id for row in found.swapped)
    swap[of_swaps] = [row.plan_id for row in found.swapped]
    swap_s[of_swaps] = [float(row.since_s) for row in found.swapped]
    swap_from[of_swaps] = [row_of.get(row.from_reservation_id, FREE) for row in found.swapped]
    return FailuresSnapshot(
        fleet=fleet,
        lost=mask(found.lost),
        with_place=mask(row.server_id for row in down if row.with_place),
        event_domain=event_domain,
        spare=in_its_buffer & mask(row.server_id for row in spare),
        ready=in_its_buffer & mask(row.server_id for row in spare if row.ready),
        buffer=buffer,
        down_s=down_s,
        swap=swap,
        swap_from=swap_from,
        swap_s=swap_s,
    )
