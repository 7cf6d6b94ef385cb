"""Check a plan of waves: replay it on arrays, by definition only. See docs/designs/0027."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.reservation import ROUNDING
from libs.domain.spare import SPARES_MAX
from libs.domain.violation import Violation
from libs.domain.wave_loans import WaveLoans
from libs.domain.waves import FEW_SHARE, NEVER, NONE, MovesToMake, Promises, WavePlan


def check_waves(moves: MovesToMake, promises: Promises, plan: WavePlan) -> list[Violation]:
    """Return every violation of a plan of waves; empty if the moves may be carried out in these waves.

    - Waves are numbered from 0 without gaps, and none is shorter than its longest move.
    - While a wave runs, a reservation keeps its capacity, or what it held before the wave, at the level *hold*. It
      keeps it at the level *survive* too, unless its servers leave `at_hold`. With the servers that go to granted
      reservations, a request that waits may go down to what was granted of it.
    - Servers leave a reservation `at_hold` only if no other leaves it or joins it in the wave. They are one server, or
      at most FEW_SHARE of the promise. The same holds for those that leave it `below`. Those that leave so in one wave
      make no circle: then one reservation of it could have waited for the others.
    - A reservation falls below *hold* only in a wave that waits for an approval, through servers that leave it `below`,
      and by no more than the plan names.
    - No move waits for an approval that could go alone, at the level *hold*, after the waves that need none. No move is
      left out that could go after the last wave.
    - Servers that become free, or are needless by `MovesToMake`, leave at *survive* alone.
    - A lent server counts from the wave after the one in which it joins, and leaves as any other does. No reservation
      has more than SPARES_MAX of them at a time.
    - With the servers that a plan lends to it in a wave, a reservation can give a server to another one: at *survive*,
      or at *hold* if it could not do so without them.
    """
    W, loans = len(plan.seconds), plan.loans
    begun = loans.begins[loans.begins >= 0]
    numbers = np.unique(np.concatenate([plan.wave[plan.wave != NEVER], begun]))
    if not np.array_equal(numbers, np.arange(W)):
        return [Violation(reason="WrongWaves", message=f"{W} waves have the numbers {numbers.tolist()}")]
    held, found = promises.held_rru.copy(), list[Violation]()
    if (~moves.presses & (plan.at_hold | plan.below)).any():
        found.append(Violation(reason="Needless", message="servers leave below survive that nothing asks that for"))
    if plan.below.any() and plan.wave[plan.below].min() < plan.approved:
        found.append(Violation(reason="NotApproved", message="servers leave below hold without an approval"))
    guarded = (moves.source != NONE) & ~moves.gone & (moves.leaves_rru > 0)
    order = np.argsort(plan.wave, kind="stable")
    ends = np.searchsorted(plan.wave[order], np.arange(W + 1))
    for k in range(W):
        if k == plan.approved:
            found += _left_out(moves, promises, np.flatnonzero(plan.wave >= k), _without(loans, held, k), guarded)
        found += _of_no_use(moves, promises, plan, held, guarded, k)
        rows = order[ends[k] : ends[k + 1]]
        if plan.seconds[k] < moves.seconds[rows].max(initial=0.0):
            found.append(Violation(reason="TooShort", message=f"wave {k} is shorter than its longest move"))
        leaving = rows[guarded[rows]]
        back = np.flatnonzero(loans.ends == k)
        givers = np.unique(np.concatenate([moves.source[leaving], loans.reservation[back]]))
        before = held[givers]
        np.subtract.at(held, (loans.reservation[back, None], loans.domain[back]), loans.rru[back, None])
        yields = moves.yields[leaving]
        _leave(moves, held, leaving[~yields])
        others_left = held[givers]
        _leave(moves, held, leaving[yields])
        at_hold = np.isin(givers, moves.source[leaving[plan.at_hold[leaving]]])
        below = np.isin(givers, moves.source[leaving[plan.below[leaving]]])
        below_rru = np.where(below, plan.below_rru[givers], 0)
        found += _levels(promises, givers, before, others_left, at_hold | below, below_rru, k)
        gives_way = np.isin(givers, moves.source[leaving[yields]])
        granted = replace(promises, capacity_rru=np.minimum(promises.capacity_rru, promises.granted_rru))
        found += _levels(
            granted,
            givers[gives_way],
            before[gives_way],
            held[givers[gives_way]],
            (at_hold | below)[gives_way],
            below_rru[gives_way],
            k,
        )
        found += _few(moves, promises, plan.at_hold, rows, leaving)
        found += _few(moves, promises, plan.below, rows, leaving)
        found += _circles(moves, leaving[(plan.at_hold | plan.below)[leaving]], k)
        found += _many_loans(promises, plan, k)
        joins = rows[moves.to[rows] != NONE]
        np.add.at(held, (moves.to[joins, None], moves.domain[joins]), moves.brings_rru[joins, None])
        coming = np.flatnonzero(loans.begins == k)
        np.add.at(held, (loans.reservation[coming, None], loans.domain[coming]), loans.rru[coming, None])
    rest = np.flatnonzero(plan.wave == NEVER)
    return [*found, *_left_out(moves, promises, rest, _without(loans, held, W), guarded)]


def _leave(moves: MovesToMake, held: Floats, rows: Ints) -> None:
    """Take the servers of `rows` from what their reservations hold, (R, P)."""
    np.subtract.at(held, (moves.source[rows, None], moves.domain[rows]), moves.leaves_rru[rows, None])


def _levels(
    promises: Promises, givers: Ints, before: Floats, after: Floats, at_hold: Bools, below_rru: Floats, k: int
) -> Iterator[Violation]:
    promise = promises.capacity_rru[givers]
    for level, survive, asked in (("hold", False, np.ones(len(givers), bool)), ("survive", True, ~at_hold)):
        floor = np.minimum(promise, promises.level(before, givers, survive))
        floor = np.where(below_rru > 0, promise - below_rru, floor)
        slack = ROUNDING * np.maximum(promise, promises.level(before, givers, False))
        below = promises.level(after, givers, survive) < floor - slack
        for r in givers[below & asked]:
            message = f"{promises.name[r]} falls below {level} in wave {k}"
            yield Violation(reason="FallsBelow", message=message, reservation=str(promises.name[r]))


def _few(moves: MovesToMake, promises: Promises, few: Bools, rows: Ints, leaving: Ints) -> Iterator[Violation]:
    """Yield a violation for each reservation from which more than few of the `few` (N,) servers leave at a time."""
    R = len(promises)
    at_hold, others = leaving[few[leaving]], leaving[~few[leaving]]
    number = np.bincount(moves.source[at_hold], minlength=R)
    left_rru = np.bincount(moves.source[at_hold], weights=moves.leaves_rru[at_hold], minlength=R)
    # Servers that leave at *hold* do not count as arrivals of one another: those that get one may not wait for it.
    steady = np.setdiff1d(rows, at_hold)
    busy = np.bincount(moves.source[others], minlength=R) > 0
    busy |= np.bincount(moves.to[steady][moves.to[steady] != NONE], minlength=R) > 0
    too_many = (number > 1) & (left_rru > FEW_SHARE * promises.capacity_rru * (1.0 + ROUNDING))
    for r in np.flatnonzero((number > 0) & (busy | too_many)):
        message = f"{number[r]} servers worth {left_rru[r]:.6g} RRU leave {promises.name[r]} at a time"
        yield Violation(reason="TooMany", message=message, reservation=str(promises.name[r]))


def _circles(moves: MovesToMake, leaving: Ints, k: int) -> Iterator[Violation]:
    """Yield a violation if the servers `leaving` go around in a circle of reservations."""
    while len(leaving):
        further = np.isin(moves.source[leaving], moves.to[leaving]) & np.isin(moves.to[leaving], moves.source[leaving])
        if further.all():
            yield Violation(reason="Circle", message=f"reservations exchange servers below survive in wave {k}")
            return
        leaving = leaving[further]


def _without(loans: WaveLoans, held: Floats, k: int) -> Floats:
    """Return `held` (R, P) without the lent servers that leave in wave k."""
    left, back = held.copy(), np.flatnonzero(loans.ends == k)
    np.subtract.at(left, (loans.reservation[back, None], loans.domain[back]), loans.rru[back, None])
    return left


def _many_loans(promises: Promises, plan: WavePlan, k: int) -> Iterator[Violation]:
    """Yield a violation for each reservation that has too many lent servers in wave k."""
    loans = plan.loans
    is_there = (loans.begins <= k) & ((loans.ends > k) | (loans.ends == NEVER))
    number = np.bincount(loans.reservation[is_there], minlength=len(promises))
    for r in np.flatnonzero(number > SPARES_MAX):
        message = f"{number[r]} servers are lent to {promises.name[r]} in wave {k}"
        yield Violation(reason="TooManyLoans", message=message, reservation=str(promises.name[r]))


def _of_no_use(
    moves: MovesToMake, promises: Promises, plan: WavePlan, held: Floats, guarded: Bools, k: int
) -> Iterator[Violation]:
    """Yield a violation for each reservation to which wave k lends servers, and that can give none with them.

    held   (R, P) what the reservations hold before the wave
    """
    loans = plan.loans
    new = np.flatnonzero(loans.foretold & (loans.begins == k))
    if not len(new):
        return
    with_loans = held.copy()
    np.add.at(with_loans, (loans.reservation[new, None], loans.domain[new]), loans.rru[new, None])
    borrowers = np.unique(loans.reservation[new])
    waits = guarded & moves.presses & ((plan.wave > k) | (plan.wave == NEVER)) & np.isin(moves.source, borrowers)
    rows = np.flatnonzero(waits)
    at_survive, at_hold, without = (
        moves.source[rows[_may_leave(moves, promises, rows, holds, np.full(len(rows), survive))]]
        for holds, survive in ((with_loans, True), (with_loans, False), (held, False))
    )
    for r in np.setdiff1d(borrowers, np.union1d(at_survive, np.setdiff1d(at_hold, without))):
        message = f"the servers lent to {promises.name[r]} in wave {k} let none of its servers leave"
        yield Violation(reason="OfNoUse", message=message, reservation=str(promises.name[r]))


def _left_out(moves: MovesToMake, promises: Promises, rows: Ints, held: Floats, guarded: Bools) -> Iterator[Violation]:
    """Yield a violation for each move of `rows` that could go now, alone, at *hold* or at *survive*."""
    free = rows[~guarded[rows]]
    stuck = rows[guarded[rows]]
    may = _may_leave(moves, promises, stuck, held, ~moves.presses[stuck])
    for row in np.concatenate([free, stuck[may]]):
        yield Violation(reason="LeftOut", message=f"the move {row} could go earlier, or at all")


def _may_leave(moves: MovesToMake, promises: Promises, rows: Ints, held: Floats, survive: Bools) -> Bools:
    """Return whether each server of `rows` (N,) could leave alone at *hold*, and where `survive` (N,) at *survive* too.

    held   (R, P) what the reservations hold before
    """
    N, source = len(rows), moves.source[rows]
    promise, before = promises.capacity_rru[source], held[source]
    most = np.where(moves.yields[rows], promises.granted_rru[source], np.inf)
    after = before.copy()
    after[np.arange(N)[:, None], moves.domain[rows]] -= moves.leaves_rru[rows, None]
    may = np.ones(N, bool)
    slack = ROUNDING * np.maximum(promise, promises.level(before, source, np.zeros(N, bool)))
    for level in (np.zeros(N, bool), survive):
        floor = np.minimum(np.minimum(promise, most), promises.level(before, source, level))
        may &= promises.level(after, source, level) >= floor - slack
    return may
