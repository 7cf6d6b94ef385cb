"""Read the moves of a region that run or are still to start, for the estimate of one of its reservations."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from libs.domain.move import MoveStep
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.reservation import Reservation
from libs.domain.under_way import HeldBack, MovesUnderWay
from libs.store.fleet.departure_waits import load_waits
from libs.store.fleet.regions import load_region
from libs.store.moves.movers import load_mover
from libs.store.moves.moves_snapshot import ASTRAY, MSBS
from libs.store.moves.moving_state import load_step_s
from libs.store.moves.spares import GOAL
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction
from libs.store.regions.region_conditions import load_condition

_FROM = "coalesce(current_reservation_id, in_doubt_reservation_id, 0)"
_ANY = sa.text(f"""
    SELECT EXISTS (SELECT FROM servers WHERE region_id = :region_id AND {ASTRAY}
                   AND :reservation_id IN ({_FROM}, coalesce({GOAL}, 0)))
        OR EXISTS (SELECT FROM moves WHERE region_id = :region_id AND status = 'running'
                   AND :reservation_id IN (from_reservation_id, to_reservation_id))""")
_SPARED = "EXISTS (SELECT FROM departure_waits AS waits WHERE waits.server_id = servers.server_id)"
# The steps of a server that waits follow from its flags (libs/ras/waves/steps.py). A running move has its own.
_MOVES = f"""
    SELECT msb_id, {_FROM}, coalesce({GOAL}, 0), false, 0::float8,
           CASE WHEN EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open')
                THEN {HeldBack.DEAD_LETTER:d} WHEN unavailability <> 'none' THEN {HeldBack.UNAVAILABLE:d}
                WHEN {_SPARED} THEN {HeldBack.SPARED:d} ELSE {HeldBack.NONE:d} END::bigint,
           {_FROM} <> 0 AND (leaves.kind IS DISTINCT FROM 'shared_buffer' OR unclean OR in_use),
           joins.kind IS NOT NULL AND joins.kind <> 'shared_buffer',
           coalesce(joins.host_profile <> servers.host_profile, false), unclean, in_doubt_reservation_id IS NOT NULL,
           current_reservation_id IS NOT NULL AND leaves.kind <> 'shared_buffer',
           {", ".join("false" for _ in MoveStep)}
    FROM servers JOIN racks USING (rack_id)
    LEFT JOIN reservations AS joins ON joins.reservation_id = {GOAL}
    LEFT JOIN reservations AS leaves ON leaves.reservation_id = {_FROM}
    WHERE servers.region_id = %(region_id)s AND decommissioned_at IS NULL AND {ASTRAY}
      AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running')
    UNION ALL
    SELECT msb_id, coalesce(from_reservation_id, 0), coalesce(to_reservation_id, 0), true,
           extract(epoch FROM step_started_at)::float8,
           CASE WHEN unavailability <> 'none' THEN {HeldBack.UNAVAILABLE:d}
                WHEN {_SPARED} THEN {HeldBack.SPARED:d} ELSE {HeldBack.NONE:d} END::bigint,
           false, false, false, false, false,
           coalesce(leaves.kind <> 'shared_buffer', false) AND 'preempt' = ANY(steps[step_index + 1:]),
           {", ".join(f"'{step}' = ANY(steps[step_index + 1:])" for step in MoveStep)}
    FROM moves JOIN servers USING (server_id) JOIN racks USING (rack_id)
    LEFT JOIN reservations AS leaves ON leaves.reservation_id = from_reservation_id
    WHERE moves.region_id = %(region_id)s AND status = 'running'"""
_FLAGS = ("runs", "joins", "other_profile", "unclean", "in_doubt", "takes")
_FIELDS = {
    "msb_id": ">i8",
    "from_id": ">i8",
    "to_id": ">i8",
    "running": "?",
    "began_s": ">f8",
    "held_back": ">i8",
    **dict.fromkeys((*_FLAGS, *(step.value for step in MoveStep)), "?"),
}


def load_moves_under_way(tx: Transaction, reservation: Reservation) -> MovesUnderWay | None:
    """Return the moves of a reservation's region; None if no server is on its way to or from the reservation. `tx` must
    come from Database.snapshot().
    """
    region_id = load_region(tx, reservation.region).region_id
    if not tx.execute(_ANY, {"region_id": region_id, "reservation_id": reservation.reservation_id}).scalar_one():
        return None
    found = copy_out(tx, _MOVES, {"region_id": region_id}, _FIELDS)
    msbs = {row.msb_id: row.servers for row in tx.execute(MSBS, {"region_id": region_id})}
    known = np.array(sorted(msbs), np.int64)
    from_id, to_id = found["from_id"].astype(np.int64), found["to_id"].astype(np.int64)
    mine = (from_id == reservation.reservation_id) | (to_id == reservation.reservation_id)
    actuator = load_condition(tx, region_id, RegionConditionType.ACTUATOR_REACHABLE)
    return MovesUnderWay(
        msb=np.searchsorted(known, found["msb_id"].astype(np.int64)),
        from_id=from_id,
        to_id=to_id,
        running=found["running"].copy(),
        began_s=found["began_s"].astype(np.float64),
        held_back=found["held_back"].astype(np.int64),
        **{name: found[name].copy() for name in _FLAGS},
        remaining={step: found[step.value].copy() for step in MoveStep},
        msb_servers=np.array([msbs[msb] for msb in known.tolist()], np.int64),
        mover=load_mover(tx, reservation.region),
        amiss=actuator if actuator is not None and actuator.status is ConditionStatus.FALSE else None,
        waits=load_waits(tx, np.unique(from_id[mine]).tolist()),
        step_s=load_step_s(tx, region_id),
    )
