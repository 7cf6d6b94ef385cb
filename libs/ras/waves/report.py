"""Tell people the waves of a plan: how many, how long, who is below *survive* meanwhile, and what cannot go. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.domain.waves import NEVER, NONE, MovesToMake, MovingState, Promises, WavePlan
from libs.plan_check.waves import check_waves
from libs.ras.waves.moves_of_plan import moves_of_plan
from libs.ras.waves.plan_waves import plan_waves

_WAVES_SHOWN_MAX, _RESERVATIONS_SHOWN_MAX, _NAMES_SHOWN_MAX = 50, 100, 3
_FAULTS_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationWaves:
    """The part of one reservation in the waves.

    loses, gains          servers that leave it, and that join it
    first_wave            number of the first wave in which it loses a server, from 1; None: it loses none
    below_survive_s       expected time during which it could not survive the loss of an MSB, but could before or will
                          have to; 0 for one that need not survive it
    lacks_rru             the most that it lacks then, after the loss of its worst MSB
    cannot_leave          servers that it would have to give, and cannot
    would_lack_rru        what it would lack of its promise, or of what it has if that is less, without the next of them
    """

    reservation: str
    loses: int
    gains: int
    first_wave: int | None
    below_survive_s: float
    lacks_rru: float
    cannot_leave: int
    would_lack_rru: float


def report_waves(snapshot: FleetSnapshot, target: Indices, state: MovingState) -> dict[str, object]:
    """Return the waves in which the servers get to `target` (S,), for JSON.

    The independent check looks at them too. If it finds a fault, which is a defect of the planner, the report says so:
    the waves foretell what the mover does and do not direct it, so they stop no commit.
    """
    moves, promises = moves_of_plan(snapshot, target, state)
    plan = plan_waves(moves, promises, state.bounds)
    faults = [violation.message for violation in check_waves(moves, promises, plan)[:_FAULTS_SHOWN_MAX]]
    rows = _reservations(moves, promises, plan)
    each = [
        {
            "moves": int((plan.wave == k).sum()),
            "at_hold": int(((plan.wave == k) & plan.at_hold).sum()),
            "seconds": round(float(seconds), 1),
        }
        for k, seconds in enumerate(plan.seconds[:_WAVES_SHOWN_MAX])
    ]
    cannot_go = int((plan.wave == NEVER).sum())
    return {
        "message": f"the waves are not known: {faults[0]}" if faults else _message(plan, rows, cannot_go),
        "faults": faults,
        "waves": len(plan.seconds),
        "seconds": round(float(plan.seconds.sum()), 1),
        "moves": len(moves) - cannot_go,
        "cannot_go": cannot_go,
        "each": each,
        "reservations": [asdict(row) for row in rows[:_RESERVATIONS_SHOWN_MAX]],
    }


def _reservations(moves: MovesToMake, promises: Promises, plan: WavePlan) -> list[ReservationWaves]:
    """Return the reservations that gain or lose servers: first those that cannot, then those longest below *survive*,
    then those that lose most.
    """
    R = len(promises)
    goes, loses, gains = plan.wave != NEVER, moves.source != NONE, moves.to != NONE
    lost, gained, kept = (
        np.bincount(column[mask], minlength=R)
        for column, mask in ((moves.source, loses & goes), (moves.to, gains & goes), (moves.source, loses & ~goes))
    )
    first = np.full(R, len(plan.seconds))
    np.minimum.at(first, moves.source[loses & goes], plan.wave[loses & goes])
    below_s, lacks = _below_survive(moves, promises, plan)
    would_lack = _would_lack(moves, promises, plan)
    found = [
        ReservationWaves(
            reservation=str(promises.name[r]),
            loses=int(lost[r]),
            gains=int(gained[r]),
            first_wave=int(first[r]) + 1 if lost[r] else None,
            below_survive_s=round(float(below_s[r]), 1),
            lacks_rru=float(lacks[r]),
            cannot_leave=int(kept[r]),
            would_lack_rru=float(would_lack[r]),
        )
        for r in np.flatnonzero(lost + gained + kept)
    ]
    return sorted(found, key=lambda row: (-row.cannot_leave, -row.below_survive_s, -row.loses, row.reservation))


def _below_survive(moves: MovesToMake, promises: Promises, plan: WavePlan) -> tuple[Floats, Floats]:
    """Return for how long (R,) each reservation is below *survive* because servers left at *hold*, and the most RRU
    that it lacks then.
    """
    R = len(promises)
    below_s, lacks = np.zeros(R), np.zeros(R)
    q = np.unique(moves.source[plan.at_hold])  # no other reservation falls below
    local = np.full(R + 1, NONE)
    local[q] = np.arange(len(q))
    source, to = local[np.where(moves.gone, NONE, moves.source)], local[moves.to]
    held, promise = promises.held_rru[q], promises.capacity_rru[q]
    floor = np.minimum(promise, _survives(promises, q, held))
    order = np.argsort(plan.wave, kind="stable")
    ends = np.searchsorted(plan.wave[order], np.arange(len(plan.seconds) + 1))
    for k, seconds in enumerate(plan.seconds):
        rows = order[ends[k] : ends[k + 1]]
        out, into = rows[source[rows] != NONE], rows[to[rows] != NONE]
        np.subtract.at(held, (source[out], moves.msb[out]), moves.leaves_rru[out])
        missing = floor - _survives(promises, q, held)
        below = missing > ROUNDING * promise
        below_s[q[below]] += seconds
        lacks[q] = np.maximum(lacks[q], np.where(below, promise - floor + missing, 0.0))
        np.add.at(held, (to[into], moves.msb[into]), moves.brings_rru[into])
    return below_s, lacks


def _survives(promises: Promises, q: Ints, held: Floats) -> Floats:
    """Return the (Q,) RRU that the reservations `q` hold without their worst MSB, if they are to survive its loss."""
    return np.asarray(held.sum(1) - np.where(promises.survives_msb_loss[q], held.max(1, initial=0.0), 0.0))


def _would_lack(moves: MovesToMake, promises: Promises, plan: WavePlan) -> Floats:
    """Return the (R,) RRU below the promise, or below what is held, if one more server left: the least of all."""
    R = len(promises)
    least = np.full(R, np.inf)
    stuck = plan.wave == NEVER
    np.minimum.at(least, moves.source[stuck], moves.leaves_rru[stuck])
    out, into = ~stuck & (moves.source != NONE) & ~moves.gone, ~stuck & (moves.to != NONE)
    total = promises.held_rru.sum(1) - np.bincount(moves.source[out], moves.leaves_rru[out], minlength=R)
    total += np.bincount(moves.to[into], moves.brings_rru[into], minlength=R)
    lack = least - (total - np.minimum(promises.capacity_rru, total))
    return np.asarray(np.where(np.isfinite(least), np.maximum(lack, 0.0), 0.0))


def _message(plan: WavePlan, rows: list[ReservationWaves], cannot_go: int) -> str:
    if not len(plan.wave):
        return "no server has to move"
    parts = ["no move can go"]
    if W := len(plan.seconds):
        parts = [f"{W} wave{'s' if W > 1 else ''}", f"about {_duration(float(plan.seconds.sum()))}"]
    parts.append("no reservation falls below its promise")
    below = [row for row in rows if row.below_survive_s > 0]
    text = ", ".join(parts)
    if below:
        longest = max(row.below_survive_s for row in below)
        text += f"; {_names(below)} would not survive the loss of an MSB for up to {_duration(longest)}"
    if cannot_go:
        stuck = [row for row in rows if row.cannot_leave]
        text += f"; {cannot_go} move{'s' if cannot_go > 1 else ''} cannot go: {_names(stuck)} would be short"
    return text


def _names(rows: list[ReservationWaves]) -> str:
    shown = ", ".join(row.reservation for row in rows[:_NAMES_SHOWN_MAX])
    more = len(rows) - _NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60.0))
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600.0:.1f} h"
