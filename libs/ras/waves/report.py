"""Tell people the waves of a plan: how many, how long, who is below *survive* meanwhile, and what cannot go. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.departure_exceptions import ExceptedReservation, Exceptions, below_what
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.domain.waves import NEVER, NONE, ForetoldLoan, MovesToMake, MovingState, Promises, WavePlan
from libs.plan_check.waves import check_waves
from libs.ras.waves.lendable import lendable_of
from libs.ras.waves.loan_report import lend_at, loan_seconds, most_lent
from libs.ras.waves.moves_of_plan import moves_of_plan
from libs.ras.waves.plan_waves import plan_waves

_WAVES_SHOWN_MAX, _RESERVATIONS_SHOWN_MAX, _NAMES_SHOWN_MAX = 50, 100, 3
_FAULTS_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationWaves:
    """The part of one reservation in the waves.

    loses, gains          servers that leave it, and that join it
    first_wave            number of the first wave in which it loses a server, from 1; None: it loses none
    below_survive_s       expected time during which it could not survive a loss that it is to survive, but could before
                          or will have to; 0 for one that need not survive any
    lacks_rru             the most that it lacks then, after the worst loss
    needs_approval        servers that it gives only after an approval, because reservations would fall below *hold*
    below_promise_rru     the most RRU that it then holds below its promise, or below its request if that waits; 0: it
                          does not fall below *hold*
    below_promise_s       expected time for which it does
    lent                  most servers that are lent to it at a time, so that it stays at *survive*
    lent_s                expected time from the first loan to the last return
    keeps                 lent servers that it cannot spare afterwards: their loans overstay
    """

    reservation: str
    loses: int
    gains: int
    first_wave: int | None
    below_survive_s: float
    lacks_rru: float
    needs_approval: int
    below_promise_rru: float
    below_promise_s: float
    lent: int
    lent_s: float
    keeps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """The waves of a plan.

    report       for JSON
    exceptions   the moves that need an approval; None: there are none, or the waves are not known
    loans        the servers to be lent, by reservation; empty if the waves are not known
    """

    report: dict[str, object]
    exceptions: Exceptions | None
    loans: tuple[ForetoldLoan, ...]


def report_waves(snapshot: FleetSnapshot, target: Indices, state: MovingState) -> dict[str, object]:
    """Return the report of `foretell`."""
    return foretell(snapshot, target, state).report


def foretell(snapshot: FleetSnapshot, target: Indices, state: MovingState) -> Foretold:
    """Return the waves in which the servers get to `target` (S,).

    The independent check looks at them too. If it finds a fault, which is a defect of the planner, the report says so:
    the waves foretell what the mover does and do not direct it, so they stop no commit.
    """
    moves, promises = moves_of_plan(snapshot, target, state)
    lendable = lendable_of(snapshot, target, state)
    plan = plan_waves(moves, promises, state.bounds, lendable)
    faults = [violation.message for violation in check_waves(moves, promises, plan)[:_FAULTS_SHOWN_MAX]]
    lent_s = loan_seconds(plan, lendable)
    rows = _reservations(moves, promises, plan, lent_s)
    each = [
        {
            "moves": int((plan.wave == k).sum()),
            "at_hold": int(((plan.wave == k) & plan.at_hold).sum()),
            "below_hold": int(((plan.wave == k) & plan.below).sum()),
            "lent": int((plan.loans.begins == k).sum()),
            "seconds": round(float(seconds), 1),
        }
        for k, seconds in enumerate(plan.seconds[:_WAVES_SHOWN_MAX])
    ]
    waiting = int((plan.wave >= plan.approved).sum())
    report = {
        "message": f"the waves are not known: {faults[0]}"
        if faults
        else _message(plan, moves, rows, waiting, promises),
        "faults": faults,
        "waves": len(plan.seconds),
        "seconds": round(float(plan.seconds.sum()), 1),
        "moves": len(moves),
        "waves_before_approval": plan.approved,
        "needs_approval": waiting,
        "stay": int((plan.wave == NEVER).sum()),
        "lent": len(plan.loans),
        "lent_s": round(float(lent_s.max(initial=0.0)), 1),
        "each": each,
        "reservations": [asdict(row) for row in rows[:_RESERVATIONS_SHOWN_MAX]],
    }
    ids = {str(name): int(i) for name, i in zip(snapshot.reservations.name, snapshot.reservations.id, strict=True)}
    loans = tuple(
        ForetoldLoan(reservation_id=ids[row.reservation], servers=row.lent, seconds=row.lent_s)
        for row in rows
        if row.lent and not faults
    )
    return Foretold(
        report=report,
        exceptions=_exceptions(snapshot, moves, plan, rows) if waiting and not faults else None,
        loans=loans,
    )


def _exceptions(
    snapshot: FleetSnapshot, moves: MovesToMake, plan: WavePlan, rows: list[ReservationWaves]
) -> Exceptions:
    ids = np.append(snapshot.reservations.id, 0)
    row_of = {str(name): r for r, name in enumerate(snapshot.reservations.name)}
    below = np.flatnonzero(plan.below)
    below = below[np.argsort(snapshot.servers.id[moves.server[below]])]
    return Exceptions(
        reservations=tuple(
            ExceptedReservation(
                reservation_id=int(ids[row_of[row.reservation]]),
                reservation=row.reservation,
                below_rru=float(plan.below_rru[row_of[row.reservation]]),
                seconds=row.below_promise_s,
                servers=row.needs_approval,
            )
            for row in rows
            if row.needs_approval
        ),
        seconds=float(plan.seconds[plan.approved :].sum()),
        server_id=snapshot.servers.id[moves.server[below]].astype(np.int64),
        from_id=ids[moves.source[below]].astype(np.int64),
        to_id=ids[moves.to[below]].astype(np.int64),
    )


def _reservations(moves: MovesToMake, promises: Promises, plan: WavePlan, lent_s: Floats) -> list[ReservationWaves]:
    """Return the reservations that gain or lose servers: first those that need an approval, by how much they fall below
    their promise, then those longest below *survive*, then those that lose most.
    """
    R = len(promises)
    late, loses, gains = plan.wave >= plan.approved, moves.source != NONE, moves.to != NONE
    lost, gained, waiting = (
        np.bincount(column[mask], minlength=R)
        for column, mask in ((moves.source, loses), (moves.to, gains), (moves.source, loses & late))
    )
    first = np.full(R, len(plan.seconds))
    np.minimum.at(first, moves.source[loses], plan.wave[loses])
    below_s, lacks = _below_level(moves, promises, plan, plan.at_hold | plan.below, survive=True)
    promise_s, _ = _below_level(moves, promises, plan, plan.below, survive=False)
    loans = plan.loans
    most = most_lent(plan, R)
    keeps = np.bincount(loans.reservation[loans.ends == NEVER], minlength=R)
    borrows = np.bincount(loans.reservation, minlength=R)
    found = [
        ReservationWaves(
            reservation=str(promises.name[r]),
            loses=int(lost[r]),
            gains=int(gained[r]),
            first_wave=int(first[r]) + 1 if lost[r] else None,
            below_survive_s=round(float(below_s[r]), 1),
            lacks_rru=float(lacks[r]),
            needs_approval=int(waiting[r]),
            below_promise_rru=float(plan.below_rru[r]),
            below_promise_s=round(float(promise_s[r]), 1),
            lent=int(most[r]),
            lent_s=round(float(lent_s[loans.reservation == r].max(initial=0.0)), 1) if borrows[r] else 0.0,
            keeps=int(keeps[r]),
        )
        for r in np.flatnonzero(lost + gained + borrows)
    ]
    return sorted(
        found,
        key=lambda row: (
            not row.needs_approval,
            *(-row.below_promise_rru, -row.below_survive_s, -row.lent, -row.loses),
            row.reservation,
        ),
    )


def _below_level(
    moves: MovesToMake, promises: Promises, plan: WavePlan, because: Bools, *, survive: bool
) -> tuple[Floats, Floats]:
    """Return for how long (R,) each reservation is below a level, and the most RRU that it lacks then. Only those are
    below it that the servers `because` (N,) left.

    survive   True: below *survive*; False: below *hold*
    """
    R = len(promises)
    below_s, lacks = np.zeros(R), np.zeros(R)
    q = np.unique(moves.source[because])  # no other reservation falls below
    local = np.full(R + 1, NONE)
    local[q] = np.arange(len(q))
    source, to = local[np.where(moves.gone, NONE, moves.source)], local[moves.to]
    held, promise = promises.held_rru[q], promises.capacity_rru[q]
    floor = np.minimum(promise, promises.level(held, q, survive))
    order = np.argsort(plan.wave, kind="stable")
    ends = np.searchsorted(plan.wave[order], np.arange(len(plan.seconds) + 1))
    for k, seconds in enumerate(plan.seconds):
        rows = order[ends[k] : ends[k + 1]]
        lend_at(plan.loans, local, held, plan.loans.ends == k, -1.0)
        out, into = rows[source[rows] != NONE], rows[to[rows] != NONE]
        np.subtract.at(held, (source[out, None], moves.domain[out]), moves.leaves_rru[out, None])
        missing = floor - promises.level(held, q, survive)
        below = missing > ROUNDING * promise
        below_s[q[below]] += seconds
        lacks[q] = np.maximum(lacks[q], np.where(below, promise - floor + missing, 0.0))
        np.add.at(held, (to[into, None], moves.domain[into]), moves.brings_rru[into, None])
        lend_at(plan.loans, local, held, plan.loans.begins == k, 1.0)
    return below_s, lacks


def _message(plan: WavePlan, moves: MovesToMake, rows: list[ReservationWaves], waiting: int, promises: Promises) -> str:
    if not len(plan.wave):
        return "no server has to move"
    parts = ["no move can go without an approval" if waiting else "no move can go now"]
    if W := plan.approved:
        parts = [f"{W} wave{'s' if W > 1 else ''}", f"about {_duration(float(plan.seconds[:W].sum()))}"]
        parts.append("no reservation falls below its promise")
    below = [row for row in rows if row.below_survive_s > 0 and not row.below_promise_rru]
    text = ", ".join(parts)
    if lent := [row for row in rows if row.lent]:
        longest = max(row.lent_s for row in lent)
        number = sum(row.lent for row in lent)
        text += f"; {number} idle server{' is' if number == 1 else 's are'} lent to {_names(lent)} "
        text += f"for up to {_duration(longest)}"
    if keeps := [row for row in rows if row.keeps]:
        text += f"; {_names(keeps)} cannot spare {sum(row.keeps for row in keeps)} of them afterwards"
    if below:
        longest = max(row.below_survive_s for row in below)
        below_rows = np.flatnonzero(np.isin(promises.name, [row.reservation for row in below]))
        text += f"; {_names(below)} would {_harm(below_rows, promises)} for up to {_duration(longest)}"
    if len(stays := np.flatnonzero(plan.wave == NEVER)):
        text += f"; {len(stays)} server{'s stay' if len(stays) > 1 else ' stays'}, because without "
        text += f"{'them' if len(stays) > 1 else 'it'} a reservation would {_harm(moves.source[stays], promises)}"
    if waiting:
        last = [row for row in rows if row.below_promise_rru > 0]
        row_of = {str(name): r for r, name in enumerate(promises.name)} if last else {}
        amounts = ", ".join(_below(row, promises, row_of[row.reservation]) for row in last[:_NAMES_SHOWN_MAX])
        more = f" and {len(last) - _NAMES_SHOWN_MAX} more" if len(last) > _NAMES_SHOWN_MAX else ""
        text += (
            f"; {waiting} move{'s need' if waiting > 1 else ' needs'} an approval, about "
            f"{_duration(float(plan.seconds[plan.approved :].sum()))}: {amounts}{more}"
        )
    return text


def _harm(rows: Ints, promises: Promises) -> str:
    """Return what would happen to the reservations `rows` below *survive*, as the end of a sentence."""
    survives = promises.axis.survives[rows]
    if not survives.any():
        return "be short"
    return f"not survive the loss of {'a domain' if survives[:, 1:].any() else 'an MSB'}"


def _below(row: ReservationWaves, promises: Promises, r: int) -> str:
    """Return by how much, and for how long, the reservation in row r of the promises falls below *hold*."""
    asked_rru, granted_rru = float(promises.capacity_rru[r]), float(promises.granted_rru[r])
    rru, what = below_what(row.below_promise_rru, asked_rru=asked_rru, granted_rru=granted_rru)
    return f"{row.reservation} {rru:.4g} RRU below {what} for {_duration(row.below_promise_s)}"


def _names(rows: list[ReservationWaves]) -> str:
    shown = ", ".join(row.reservation for row in rows[:_NAMES_SHOWN_MAX])
    more = len(rows) - _NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60.0))
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600.0:.1f} h"
