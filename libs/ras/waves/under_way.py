"""Estimate when the servers on their way to and from a reservation have moved, as the waves of a plan do. Pure. See
docs/designs/0027.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.departure_wait import DepartureWait
from libs.domain.move import MoveStep
from libs.domain.under_way import HeldBack, MovesUnderWay, Travellers, UnderWay
from libs.ras.waves.steps import DEFAULT_STEP_S, needed_steps, seconds_of
from libs.ras.waves.wave_time import TICK_S, wave_s

LATE = 3.0
"""A step that takes so many times its usual seconds has no estimate any more."""
_WORDS = {
    HeldBack.DEAD_LETTER: "whose failed move an operator must resolve (`plimsoll get moves -w dead_letter=open`)",
    HeldBack.UNAVAILABLE: "down or in maintenance",
    HeldBack.LATE: f"with a step that takes more than {LATE:g} times as long as usual",
}


def under_way(moves: MovesUnderWay, reservation_id: int, now: datetime) -> UnderWay:
    """Return what moves at a reservation, and when that is expected to end.

    running move     until the end of its step by the median, then the medians of the other steps
    move to start    one wave of all moves of the region that nothing holds back
    """
    step_s = np.array([moves.step_s.get(step, DEFAULT_STEP_S[step]) for step in MoveStep])
    needed = _needed(moves)
    seconds, late = _seconds(moves, needed, step_s, now)
    held_back = np.where((moves.held_back == HeldBack.NONE) & late, HeldBack.LATE, moves.held_back)
    timed = np.flatnonzero(held_back == HeldBack.NONE)
    wave = (
        wave_s(seconds[timed], moves.msb[timed], moves.takes[timed], moves.msb_servers, moves.mover.bounds)
        if len(timed)
        else 0.0
    )
    ends_s = np.where(moves.running, seconds, wave)
    joins, leaves = moves.to_id == reservation_id, moves.from_id == reservation_id
    stays = joins & leaves  # only its host profile changes
    return UnderWay(
        arriving=_travellers(moves, np.flatnonzero(joins & ~stays), held_back, ends_s, now, arrive=True),
        leaving=_travellers(moves, np.flatnonzero(leaves & ~stays), held_back, ends_s, now, arrive=False),
    )


def _needed(moves: MovesUnderWay) -> dict[MoveStep, Bools]:
    """Return step -> (N,) whether each move still needs it."""
    to_start = needed_steps(
        runs=moves.runs,
        joins=moves.joins,
        other_profile=moves.other_profile,
        unclean=moves.unclean,
        in_doubt=moves.in_doubt,
    )
    return {step: np.where(moves.running, moves.remaining[step], mask) for step, mask in to_start}


def _seconds(
    moves: MovesUnderWay, needed: dict[MoveStep, Bools], step_s: Floats, now: datetime
) -> tuple[Floats, Bools]:
    """Return the (N,) seconds until the end of each move from now, bounds aside, and which moves are late."""
    whole = seconds_of(needed, moves.step_s)
    current_s = step_s[np.argmax([needed[step] for step in MoveStep], axis=0)]
    patient = moves.mover.patient_since
    began_s = moves.began_s if patient is None else np.maximum(moves.began_s, patient.timestamp())
    passed_s = now.timestamp() - began_s
    late = moves.running & (passed_s > LATE * current_s + TICK_S)
    left_s = np.maximum(current_s - passed_s, TICK_S)
    return np.where(moves.running, whole - current_s + left_s, whole), late


def _travellers(
    moves: MovesUnderWay, rows: Ints, held_back: Ints, ends_s: Floats, now: datetime, *, arrive: bool
) -> Travellers | None:
    if not len(rows):
        return None
    stopped = _stopped(moves)
    free = rows[held_back[rows] == HeldBack.NONE] if not stopped else rows[:0]
    ends = now + timedelta(seconds=float(ends_s[free].max())) if len(free) else None
    waiting = len(rows) - len(free)
    return Travellers(
        arrive=arrive,
        servers=len(rows),
        waiting=waiting,
        expected_at=None if waiting else ends,
        not_before=ends,
        causes=(stopped,) if stopped else tuple(_causes(moves, rows, held_back)),
    )


def _stopped(moves: MovesUnderWay) -> str:
    """Return the cause that stops all moves of the region; "" if none does."""
    mover, amiss = moves.mover, moves.amiss
    if mover.paused_at is not None:
        because = f" ({mover.paused_reason})" if mover.paused_reason else ""
        return f"the pause of the mover{because}"
    if amiss is not None:
        return f"the actuator ({amiss.reason}; `plimsoll status {mover.region}` tells more)"
    return ""


def _causes(moves: MovesUnderWay, rows: Ints, held_back: Ints) -> list[str]:
    """Return a clause for each cause that holds back some of these rows."""
    found = [
        f"{_servers(number)} {words}"
        for cause, words in _WORDS.items()
        if (number := int((held_back[rows] == cause).sum()))
    ]
    spared = rows[held_back[rows] == HeldBack.SPARED]
    givers, numbers = np.unique(moves.from_id[spared], return_counts=True)
    return found + [
        f"{_servers(number)} {_wait_words(moves.waits.get(giver))}"
        for giver, number in zip(givers.tolist(), numbers.tolist(), strict=True)
    ]


def _wait_words(wait: DepartureWait | None) -> str:
    if wait is None:
        return "that its reservation cannot spare yet"
    return f"that {wait.reservation} cannot spare yet: it waits for {wait.cause}"


def _servers(number: int) -> str:
    return "1 server" if number == 1 else f"{number} servers"
