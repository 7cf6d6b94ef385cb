"""Moves: what the mover reads of a region, and what it makes of it.

Everything here is in bulk: a tick costs a few statements, however many moves are under way. The mover alone writes
moves; servers have other writers, so what a step does to one is a compare-and-swap on its generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from libs.domain.move import MoveChange, MoveStart, MoveStep, StepResult
from libs.store import audit
from libs.store.database import Transaction
from libs.store.unavailability_events import refresh_unavailability

_START = sa.text("""
    INSERT INTO moves (region_id, server_id, from_reservation_id, to_reservation_id, steps, status, step_started_at,
                       created_at)
    SELECT :region_id, server_id, current_reservation_id, target_reservation_id, string_to_array(start.steps, ' '),
           'running', :now, :now
    FROM unnest(CAST(:server_ids AS bigint[]), CAST(:generations AS bigint[]), CAST(:steps AS text[]))
         AS start (server_id, generation, steps)
    JOIN servers USING (server_id, generation)
    ON CONFLICT (server_id) WHERE status = 'running' DO NOTHING""")

_CHANGES = """unnest(CAST(:move_ids AS bigint[]), CAST(:move_generations AS bigint[]), CAST(:server_ids AS bigint[]),
                     CAST(:server_generations AS bigint[]), CAST(:statuses AS text[]), CAST(:reasons AS text[]),
                     CAST(:step_indices AS int[]), CAST(:attempts AS int[]), CAST(:started_ats AS timestamptz[]),
                     CAST(:effects AS text[]), CAST(:old_indices AS int[]), CAST(:old_attempts AS int[]),
                     CAST(:old_steps AS text[]), CAST(:old_started_ats AS timestamptz[]), CAST(:results AS text[]),
                     CAST(:messages AS text[]), CAST(:host_profiles AS text[]))
              AS change (move_id, move_generation, server_id, server_generation, status, reason, step_index, attempt,
                         started_at, effect, old_index, old_attempt, old_step, old_started_at, result, message,
                         host_profile)"""

_LOCK_SERVERS = sa.text("SELECT FROM servers WHERE server_id = ANY(:ids) ORDER BY server_id FOR NO KEY UPDATE")

# The servers are locked by now: what is read here of their generations is still so when they are written.
_CHANGE = sa.text(f"""
    WITH moved AS (
        UPDATE moves SET status = change.status, reason = change.reason, step_index = change.step_index,
                         attempt = change.attempt, step_started_at = change.started_at,
                         finished_at = CASE WHEN change.status = 'running' THEN NULL
                                            ELSE CAST(:now AS timestamptz) END
        FROM {_CHANGES}
        WHERE moves.move_id = change.move_id AND moves.generation = change.move_generation
          AND moves.status = 'running'
          AND (change.effect IS NULL OR EXISTS (
              SELECT FROM servers WHERE servers.server_id = change.server_id
              AND servers.generation = change.server_generation))
        RETURNING change.*, moves.to_reservation_id
    ), recorded AS (
        INSERT INTO move_steps (move_id, step_index, attempt, step, outcome, message, started_at, finished_at)
        SELECT move_id, old_index, old_attempt, old_step, result, message, old_started_at, :now FROM moved
        WHERE result IS NOT NULL
    ), bound AS (
        UPDATE servers SET
            current_reservation_id = CASE effect WHEN 'preempt' THEN NULL WHEN 'join' THEN moved.to_reservation_id
                                     ELSE current_reservation_id END,
            in_use = false,
            host_profile = CASE effect WHEN 'host_profile' THEN moved.host_profile ELSE servers.host_profile END
        FROM moved WHERE servers.server_id = moved.server_id AND effect IS NOT NULL
    )
    SELECT server_id, status FROM moved""")

_REPORT = sa.text("""
    INSERT INTO unavailability_events (region_id, scope, server_id, kind, reason, starts_at)
    SELECT :region_id, 'server', server_id, 'unplanned', reason, :now
    FROM unnest(CAST(:server_ids AS bigint[]), CAST(:reasons AS text[])) AS failed (server_id, reason)""")

_EFFECTS = frozenset({MoveStep.PREEMPT, MoveStep.HOST_PROFILE, MoveStep.JOIN})
"""Steps that, done, change what is so of the server."""


def start_moves(tx: Transaction, region_id: int, starts: Sequence[MoveStart], *, now: datetime) -> int:
    """Start moves of servers that are still as they were read; how many. The others are left for another tick."""
    arrays = {
        "server_ids": [start.server_id for start in starts],
        "generations": [start.server_generation for start in starts],
        "steps": [" ".join(start.steps) for start in starts],
    }
    return tx.execute(_START, arrays | {"region_id": region_id, "now": now}).rowcount


def change_moves(tx: Transaction, changes: Sequence[MoveChange], *, now: datetime) -> int:
    """Write what became of moves that have not failed for good, with what their steps did to servers; how many.

    Those whose move or, where the step did something to it, whose server has changed since stay as they are: the
    actuator says the same again on the next tick.
    """
    affected = [change.move.server_id for change in changes if _effect(change) is not None]
    if affected:
        tx.execute(_LOCK_SERVERS, {"ids": affected})
    return len(tx.execute(_CHANGE, _arrays(changes) | {"now": now}).all())


def fail_moves(tx: Transaction, region_id: int, changes: Sequence[MoveChange], *, now: datetime, actor: str) -> int:
    """End moves that have failed for good, and report their servers as unavailable; how many.

    A transaction of its own: it changes servers' unavailability, which has a lock that comes before the servers' own.
    """
    rows = tx.execute(_CHANGE, _arrays(changes) | {"now": now}).all()
    failed = {row.server_id for row in rows}
    reasons = {change.move.server_id: str(change.reason) for change in changes if change.move.server_id in failed}
    if reasons:
        values = {"region_id": region_id, "server_ids": list(reasons), "reasons": list(reasons.values()), "now": now}
        tx.execute(_REPORT, values)
        refresh_unavailability(tx, region_id, now=now)
        audit.append(
            tx,
            actor=actor,
            action="report_failed_moves",
            subject_kind="region",
            subject_id=region_id,
            now=now,
            after={"server_ids": list(reasons)},
        )
    return len(rows)


def _effect(change: MoveChange) -> str | None:
    done = change.result is StepResult.DONE and change.move.step in _EFFECTS
    return change.move.step.value if done else None


def _arrays(changes: Sequence[MoveChange]) -> dict[str, object]:
    return {
        "move_ids": [change.move.move_id for change in changes],
        "move_generations": [change.move.generation for change in changes],
        "server_ids": [change.move.server_id for change in changes],
        "server_generations": [change.move.server_generation for change in changes],
        "statuses": [change.status.value for change in changes],
        "reasons": [change.reason for change in changes],
        "step_indices": [change.step_index for change in changes],
        "attempts": [change.attempt for change in changes],
        "started_ats": [change.step_started_at for change in changes],
        "effects": [_effect(change) for change in changes],
        "old_indices": [change.move.step_index for change in changes],
        "old_attempts": [change.move.attempt for change in changes],
        "old_steps": [change.move.step.value for change in changes],
        "old_started_ats": [change.move.step_started_at for change in changes],
        "results": [None if change.result is None else change.result.value for change in changes],
        "messages": [change.message for change in changes],
        "host_profiles": [change.move.to_host_profile for change in changes],
    }
