"""Moves as the mover reads and writes them.

Every function handles many moves at once: a tick takes a few statements, however many moves are under way. Only the
mover writes moves. Servers have other writers, so the effect of a step on a server is a compare-and-swap on its
generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import orjson
import sqlalchemy as sa

from libs.domain.move import (
    MoveChange,
    MovePostponed,
    MoveStart,
    MoveStatus,
    MoveStep,
    Rebinding,
    RunningMove,
    StepResult,
)
from libs.store.fleet.unavailability_events import MOVE_FAILED, lock_events, refresh_unavailability
from libs.store.moves.spares import GOAL, LENT
from libs.store.platform import audit
from libs.store.platform.database import Transaction

_START = sa.text(f"""
    INSERT INTO moves (region_id, server_id, from_reservation_id, to_reservation_id, is_spare, steps, status,
                       step_started_at, created_at, urgent_reason)
    SELECT :region_id, server_id, coalesce(current_reservation_id, in_doubt_reservation_id),
           {GOAL}, {LENT},
           string_to_array(start.steps, ' '), 'running', :now, :now, urgent_departures.reason
    FROM unnest(CAST(:server_ids AS bigint[]), CAST(:generations AS bigint[]), CAST(:steps AS text[]))
         AS start (server_id, generation, steps)
    JOIN servers USING (server_id, generation)
    LEFT JOIN urgent_departures USING (region_id, server_id)
    ORDER BY server_id
    ON CONFLICT (server_id) WHERE status = 'running' DO NOTHING""")

# In order of id, as every writer of servers locks them.
_REBIND = sa.text("""
    WITH chosen AS (
        SELECT server_id FROM servers
        JOIN unnest(CAST(:server_ids AS bigint[]), CAST(:generations AS bigint[])) AS read (server_id, generation)
            USING (server_id, generation)
        WHERE NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running')
        ORDER BY server_id FOR NO KEY UPDATE OF servers
    )
    UPDATE servers SET current_reservation_id = target_reservation_id, in_use = false
    FROM chosen WHERE servers.server_id = chosen.server_id""")

# One JSON document: with 10,000 changes it is many times faster than an array for each column.
_CHANGES = """json_to_recordset(CAST(:changes AS json)) AS change (
    move_id bigint, move_generation bigint, server_id bigint, server_generation bigint, status text, reason text,
    step_index int, attempt int, started_at timestamptz, effect text, old_index int, old_attempt int, old_step text,
    old_started_at timestamptz, result text, message text, host_profile text)"""

_LOCK_SERVERS = sa.text("SELECT FROM servers WHERE server_id = ANY(:ids) ORDER BY server_id FOR NO KEY UPDATE")
_LOCK_MOVES = sa.text("SELECT FROM moves WHERE move_id = ANY(:ids) ORDER BY move_id FOR NO KEY UPDATE")

# Whether a preempt of the move's server counts against the churn budget.
_COUNTS = """EXISTS (SELECT FROM servers WHERE servers.server_id = moves.server_id
                             AND churns AND in_use AND unavailability <> 'unplanned')"""

# The servers are locked by now, so the generations that are read here hold until the write.
_CHANGE = sa.text(f"""
    WITH moved AS (
        UPDATE moves SET status = change.status, reason = change.reason, step_index = change.step_index,
                         attempt = change.attempt, step_started_at = change.started_at,
                         finished_at = CASE WHEN change.status = 'running' THEN NULL
                                            ELSE CAST(:now AS timestamptz) END,
                         ask_at = NULL, calls_failed = 0,
                         asked_at = CASE WHEN change.result = 'unknown' THEN moves.asked_at END,
                         note = coalesce(change.message, moves.note),
                         churned_at = CASE
                             WHEN change.effect IN ('preempt', 'lost preempt') AND moves.churned_at IS NULL
                                  AND {_COUNTS}
                             THEN CAST(:now AS timestamptz)
                             WHEN change.old_step = 'preempt' AND change.effect IS NULL
                                  AND change.status <> 'running' AND {_COUNTS} THEN NULL  -- it stays, and is in use
                             ELSE moves.churned_at END,
                         dead_letter = CASE WHEN change.status = 'failed' THEN 'open' ELSE moves.dead_letter END
        FROM {_CHANGES}
        WHERE moves.move_id = change.move_id AND moves.generation = change.move_generation
          AND moves.status = 'running'
          AND (change.effect IS NULL OR EXISTS (
              SELECT FROM servers WHERE servers.server_id = change.server_id
              AND servers.generation = change.server_generation))
        RETURNING change.*, moves.from_reservation_id, moves.to_reservation_id
    ), recorded AS (
        INSERT INTO move_steps (move_id, step_index, attempt, step, outcome, message, started_at, finished_at)
        SELECT move_id, old_index, old_attempt, old_step, result, message, old_started_at, :now FROM moved
        WHERE result IS NOT NULL
    ), bound AS (
        UPDATE servers SET
            current_reservation_id = CASE effect WHEN 'preempt' THEN NULL WHEN 'lost preempt' THEN NULL
                                     WHEN 'lost join' THEN NULL WHEN 'join'
                                     THEN moved.to_reservation_id ELSE current_reservation_id END,
            in_doubt_reservation_id = CASE effect WHEN 'preempt' THEN NULL WHEN 'join' THEN NULL
                                      WHEN 'lost preempt' THEN moved.from_reservation_id
                                      WHEN 'lost join' THEN moved.to_reservation_id
                                      ELSE in_doubt_reservation_id END,
            unclean = CASE effect WHEN 'preempt' THEN true WHEN 'clean' THEN false ELSE unclean END,
            in_use = false,
            churns = churns AND effect NOT IN ('preempt', 'lost preempt', 'join'),
            host_profile = CASE effect WHEN 'host_profile' THEN moved.host_profile
                           WHEN 'lost host_profile' THEN 'unknown' ELSE servers.host_profile END
        FROM moved WHERE servers.server_id = moved.server_id AND effect IS NOT NULL
    )
    SELECT server_id, status FROM moved""")

_POSTPONE = sa.text("""
    UPDATE moves SET ask_at = later.ask_at, calls_failed = later.calls_failed, note = later.note
    FROM json_to_recordset(CAST(:postponed AS json))
         AS later (move_id bigint, generation bigint, ask_at timestamptz, calls_failed int, note text)
    WHERE moves.move_id = later.move_id AND moves.generation = later.generation AND moves.status = 'running'""")

_REPORT = sa.text("""
    INSERT INTO unavailability_events (region_id, scope, server_id, kind, reason, starts_at)
    SELECT :region_id, 'server', server_id, 'unplanned', reason, :now
    FROM unnest(CAST(:server_ids AS bigint[]), CAST(:reasons AS text[])) AS failed (server_id, reason)""")

# A preempt counts from here on, because containers leave before it is done.
_ASKED = sa.text(f"""
    UPDATE moves SET asked_at = :now, asked_host_profile = asked.host_profile,
                     churned_at = CASE WHEN steps[step_index + 1] = 'preempt' AND churned_at IS NULL AND {_COUNTS}
                                  THEN CAST(:now AS timestamptz) ELSE churned_at END
    FROM unnest(CAST(:move_ids AS bigint[]), CAST(:host_profiles AS text[])) AS asked (move_id, host_profile)
    WHERE moves.move_id = asked.move_id AND status = 'running' AND asked_at IS NULL
    RETURNING moves.move_id, generation""")

_EFFECTS = frozenset({MoveStep.PREEMPT, MoveStep.CLEAN, MoveStep.HOST_PROFILE, MoveStep.JOIN})
"""Steps that change the server's row when they are done."""
_DOUBTS = _EFFECTS - {MoveStep.CLEAN}
"""Steps that change the server's row when their move ends and it is not known whether they are done."""


def start_moves(tx: Transaction, region_id: int, starts: Sequence[MoveStart], *, now: datetime) -> int:
    """Start the moves in `starts` whose servers have not changed since they were read. Return the number of started
    moves. A later tick reads the other servers again.
    """
    arrays = {
        "server_ids": [start.server_id for start in starts],
        "generations": [start.server_generation for start in starts],
        "steps": [" ".join(start.steps) for start in starts],
    }
    return tx.execute(_START, arrays | {"region_id": region_id, "now": now}).rowcount


def rebind_servers(tx: Transaction, rebindings: Sequence[Rebinding]) -> int:
    """Bind servers that need no step to their targets. Return the number of bound servers. Skip those that have changed
    since they were read: a later tick reads them again.
    """
    arrays = {
        "server_ids": [one.server_id for one in rebindings],
        "generations": [one.server_generation for one in rebindings],
    }
    return tx.execute(_REBIND, arrays).rowcount


def mark_asked(tx: Transaction, moves: Sequence[RunningMove], *, now: datetime) -> list[RunningMove]:
    """Record that the actuator is about to be asked for the steps of `moves`. Return the moves that have not changed
    since they were read.

    From then on a step counts as possibly under way, even if the clock jumps. Until its end the actuator is asked for
    the same host profile, even if the destination gets another one.
    """
    new = {move.move_id: move for move in moves if not move.asked}
    _lock(tx, moves=new.values())
    profiles = [move.to_host_profile for move in new.values()]
    rows = tx.execute(_ASKED, {"move_ids": list(new), "host_profiles": profiles, "now": now}).all() if new else ()
    generation = {row.move_id: row.generation for row in rows if row.generation == new[row.move_id].generation + 1}
    return [
        move if move.asked else replace(move, asked=True, generation=generation[move.move_id])
        for move in moves
        if move.asked or move.move_id in generation
    ]


def change_moves(
    tx: Transaction, changes: Sequence[MoveChange], postponed: Sequence[MovePostponed] = (), *, now: datetime
) -> int:
    """Write the next state of moves, and the effects of their steps on servers. Record when to ask the actuator about
    the moves in `postponed` again. Return the number of moves that changed their state.

    Pass moves that fail for good to fail_moves instead. Skip a move that has changed since. Skip it also if its step
    has an effect and its server has changed. The actuator repeats its answer on the next tick.
    """
    affected = [change.move.server_id for change in changes if _effect(change) is not None]
    moves = [*(change.move for change in changes), *(later.move for later in postponed)]
    _lock(tx, affected, moves)
    written = tx.execute(_CHANGE, {"changes": _document(changes), "now": now}).all() if changes else ()
    if postponed:
        _postpone(tx, postponed)
    return len(written)


def _postpone(tx: Transaction, postponed: Sequence[MovePostponed]) -> None:
    rows = [
        {
            "move_id": later.move.move_id,
            "generation": later.move.generation,
            "ask_at": later.ask_at,
            "calls_failed": later.calls_failed,
            "note": later.note,
        }
        for later in postponed
    ]
    tx.execute(_POSTPONE, {"postponed": orjson.dumps(rows).decode()})


def fail_moves(tx: Transaction, region_id: int, changes: Sequence[MoveChange], *, now: datetime, actor: str) -> int:
    """End moves that have failed for good as dead letters, and report the servers at fault as unavailable.

    Return the number of moves. If the actuator never answered, no server is at fault: the reason is not MOVE_FAILED.
    Call it in its own transaction: it takes the lock of events, which comes before the locks of servers and moves.
    """
    lock_events(tx, region_id)
    _lock(tx, [change.move.server_id for change in changes], [change.move for change in changes])
    rows = tx.execute(_CHANGE, {"changes": _document(changes), "now": now}).all()
    failed = {row.server_id for row in rows}
    reasons = {
        change.move.server_id: str(change.reason)
        for change in changes
        if change.move.server_id in failed and str(change.reason).startswith(MOVE_FAILED)
    }
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


def _lock(tx: Transaction, server_ids: Sequence[int] = (), moves: Iterable[RunningMove] = ()) -> None:
    """Lock servers, then moves, each in order of id, as all their writers do. So two movers of a region, or a mover and
    an operator, wait for each other and do not deadlock.
    """
    if server_ids:
        tx.execute(_LOCK_SERVERS, {"ids": server_ids})
    if move_ids := [move.move_id for move in moves]:
        tx.execute(_LOCK_MOVES, {"ids": move_ids})


def _effect(change: MoveChange) -> str | None:
    """Return the effect of a change on the move's server. A step has an effect if it is done, or if the move ends and
    the step may have been done.
    """
    step = change.move.step
    if change.result in (StepResult.DONE, StepResult.SKIPPED):
        return step.value if step in _EFFECTS else None
    is_lost = change.result is StepResult.UNKNOWN and change.status is not MoveStatus.RUNNING
    return f"lost {step.value}" if is_lost and step in _DOUBTS else None


def _document(changes: Sequence[MoveChange]) -> str:
    return orjson.dumps([_row(change) for change in changes]).decode()


def _row(change: MoveChange) -> dict[str, object]:
    move = change.move
    return {
        "move_id": move.move_id,
        "move_generation": move.generation,
        "server_id": move.server_id,
        "server_generation": move.server_generation,
        "status": change.status,
        "reason": change.reason,
        "step_index": change.step_index,
        "attempt": change.attempt,
        "started_at": change.step_started_at,
        "effect": _effect(change),
        "old_index": move.step_index,
        "old_attempt": move.attempt,
        "old_step": move.step,
        "old_started_at": move.step_started_at,
        "result": change.result,
        "message": change.message,
        "host_profile": move.to_host_profile,
    }


def count_dead_letters(tx: Transaction) -> dict[str, int]:
    """Return region -> number of open dead letters."""
    query = """SELECT name, count(*) AS number FROM moves JOIN regions USING (region_id)
               WHERE dead_letter = 'open' GROUP BY name"""
    return {row.name: row.number for row in tx.execute(sa.text(query))}
