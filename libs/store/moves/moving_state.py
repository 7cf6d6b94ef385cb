"""Read the state that the order and the time of moves rest on: present bindings, running moves, and measured steps."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from libs.domain.move import MoveStep
from libs.domain.waves import MovingState, RunningRows
from libs.store.fleet.regions import load_region
from libs.store.moves.movers import load_mover
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_MEASURED_MOVES, SAMPLES_MIN = 5000, 20
"""Number of latest moves whose steps are measured, and the least number of measurements of a step for a median."""
_SERVERS = """
    SELECT server_id, coalesce(current_reservation_id, in_doubt_reservation_id, 0), unavailability = 'none'
           AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open'),
           unclean, in_doubt_reservation_id IS NOT NULL, hashtext(host_profile),
           CASE WHEN spare_recalled_at IS NULL THEN coalesce(spare_for_reservation_id, 0) ELSE 0 END
    FROM servers WHERE region_id = %(region_id)s AND decommissioned_at IS NULL ORDER BY server_id"""
_SERVER_FIELDS = {
    "id": ">i8",
    "current_id": ">i8",
    "ready": "?",
    "unclean": "?",
    "in_doubt": "?",
    "profile": ">i4",
    "lent_to": ">i8",
}
_RUNNING = f"""
    SELECT server_id, step_index > array_position(steps, 'preempt') - 1 OR asked_at IS NOT NULL
                      OR array_position(steps, 'preempt') IS NULL,
           {", ".join(f"'{step}' = ANY(steps[step_index + 1:])" for step in MoveStep)}
    FROM moves WHERE region_id = %(region_id)s AND status = 'running' ORDER BY server_id"""
_RUNNING_FIELDS = {"server_id": ">i8", "gone": "?", **{step.value: "?" for step in MoveStep}}
_PROFILES = sa.text("""
    SELECT reservation_id, hashtext(host_profile) AS profile, kind = 'shared_buffer' AS is_buffer FROM reservations
    WHERE region_id = :region_id AND deleted_at IS NULL""")
# The time from asking for a step to its last outcome, repeated attempts included: people wait for that too.
_MEDIANS = sa.text("""
    SELECT step, percentile_cont(0.5) WITHIN GROUP (ORDER BY taken_s) AS median_s FROM (
        SELECT step, extract(epoch FROM max(finished_at) - min(started_at)) AS taken_s
        FROM (SELECT move_id FROM moves WHERE region_id = :region_id ORDER BY move_id DESC LIMIT :moves) AS latest
        JOIN move_steps USING (move_id) GROUP BY move_id, step_index, step
        HAVING bool_or(outcome = 'done')) AS done
    GROUP BY step HAVING count(*) >= :samples_min""")


def load_moving_state(tx: Transaction, region_name: str) -> MovingState:
    """Return the state of a region's servers and moves. `tx` must come from Database.snapshot(). Raises NotFound."""
    region_id = load_region(tx, region_name).region_id
    of_region = {"region_id": region_id}
    servers = copy_out(tx, _SERVERS, of_region, _SERVER_FIELDS)
    running = copy_out(tx, _RUNNING, of_region, _RUNNING_FIELDS)
    profiles = tx.execute(_PROFILES, of_region).all()
    return MovingState(
        id=servers["id"].astype(np.int64),
        current_id=servers["current_id"].astype(np.int64),
        ready=servers["ready"].copy(),
        unclean=servers["unclean"].copy(),
        in_doubt=servers["in_doubt"].copy(),
        profile=servers["profile"].astype(np.int64),
        lent_to=servers["lent_to"].astype(np.int64),
        reservation_profile={row.reservation_id: row.profile for row in profiles},
        buffers=frozenset(row.reservation_id for row in profiles if row.is_buffer),
        running=RunningRows(
            server_id=running["server_id"].astype(np.int64),
            gone=running["gone"].copy(),
            remaining=np.stack([running[step.value] for step in MoveStep], axis=1),
        ),
        bounds=load_mover(tx, region_name).bounds,
        step_s=load_step_s(tx, region_id),
    )


def load_step_s(tx: Transaction, region_id: int) -> dict[MoveStep, float]:
    """Return the median seconds of each step that a region has done often enough."""
    measured = {"region_id": region_id, "moves": _MEASURED_MOVES, "samples_min": SAMPLES_MIN}
    return {MoveStep(row.step): float(row.median_s) for row in tx.execute(_MEDIANS, measured)}
