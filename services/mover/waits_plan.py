"""Say why servers wait with their moves, for what, and since when. Pure. See docs/designs/0032."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints
from libs.domain.departure_exceptions import ExceptionState
from libs.domain.departure_wait import DepartureWait, KnownWaits, Level, WaitsFor, WaitsPlan
from libs.domain.move import MoveStep, RunningMove
from libs.domain.moves_snapshot import MovesSnapshot
from libs.ras.waves.guard import Guard
from services.mover.starts_plan import Starts

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def plan_waits(
    snapshot: MovesSnapshot,
    guard: Guard,
    chosen: Starts,
    held_back: Sequence[RunningMove],
    going: Sequence[RunningMove],
    *,
    sees_all: bool,
    now: datetime,
) -> WaitsPlan:
    """Return the waits after the departures of this tick. `guard` has counted these departures.

    A server that this tick did not decide goes on waiting while the guard refuses it. If other reservations wait for
    servers of one, its wait is about those.

    going      running moves that go on
    held_back  running moves whose server may not leave
    sees_all   False: the snapshot lacks servers that wait
    """
    waiting, known = snapshot.waiting, snapshot.waits
    rows = chosen.refused
    server_id = np.concatenate([waiting.id[rows], _ints(move.server_id for move in held_back)])
    reservation_id = np.concatenate(
        [waiting.current_id[rows], _ints(move.from_reservation_id or 0 for move in held_back)]
    )
    place = waiting.place
    held_places = np.array([move.place for move in held_back], np.int64).reshape(-1, place.shape[1])
    place = np.concatenate([place[rows], held_places])
    rru = np.concatenate([waiting.leaves_rru[rows], np.array([move.leaves_rru for move in held_back], np.float64)])
    presses = np.array([snapshot.presses(move) for move in held_back], bool)
    pressing = np.concatenate([snapshot.pressing[rows], presses])
    since_us, is_known = _since(known, server_id, reservation_id, (now - _EPOCH) // _MICROSECOND)
    stays = _undecided(snapshot, guard, chosen, server_id, sees_all=sees_all)
    is_over = ~(stays | np.isin(known.server_id, server_id[is_known]))
    yields = np.concatenate([snapshot.yielding[rows], np.array([snapshot.yields(move) for move in held_back], bool)])
    lacks = guard.lacks(reservation_id, place, rru, yields=yields)
    lacks_at_hold = guard.lacks(reservation_id, place, rru, hold=True, yields=yields)
    coming = _Coming(snapshot, chosen, going, held_back)
    stored = snapshot.exceptions
    not_approved = None if stored is None or stored.state(now) is ExceptionState.APPROVED else stored
    found: dict[int, DepartureWait] = {}
    order = np.argsort(reservation_id, kind="stable")
    ids, starts = np.unique(reservation_id[order], return_index=True)
    for r, own in zip(ids.tolist(), np.split(order, starts[1:]), strict=True) if len(ids) else ():
        is_exchange = bool(pressing[own].any())
        first = own[pressing[own]] if is_exchange else own  # the others leave at *survive* alone
        at_hold = lacks_at_hold[first]
        level = Level.HOLD if at_hold.min() > 0 else Level.SURVIVE
        next_one = first[int((at_hold if level is Level.HOLD else lacks[first]).argmin())]
        lack = guard.lack(
            r,
            tuple(place[next_one].tolist()),
            float(rru[next_one]),
            hold=level is Level.HOLD,
            yields=bool(yields[next_one]),
        )
        also = stays & (known.reservation_id == r) if stays.any() else stays
        first_us = min([int(since_us[own].min()), *known.since_us[also].tolist()])
        waits_for, asked = coming.waits_for(r, level, is_exchange=is_exchange), None
        may_ask = is_exchange and waits_for is WaitsFor.CAPACITY
        if may_ask and not_approved is not None and not_approved.names(r):
            waits_for, asked = WaitsFor.APPROVAL, not_approved
        found[r] = DepartureWait(
            reservation_id=r,
            reservation=guard.name(r),
            servers=len(own) + int(also.sum()),
            since=_EPOCH + first_us * _MICROSECOND,
            level=level,
            keeps_rru=lack.keeps_rru,
            lacks_rru=lack.rru,
            resource=lack.resource,
            units=lack.units,
            loss=None if lack.kind is None else snapshot.kinds[lack.kind],
            waits_for=waits_for,
            moves=coming.moves(r),
            replacements=coming.replacements(r),
            loans=coming.loans(r),
            queued=coming.queued(r),
            approval_id=None if asked is None else asked.approval_id,
            approval_state=None if asked is None else asked.state(now).value,
        )
    kept = set(np.unique(known.reservation_id[stays]).tolist()) - found.keys()
    for r in kept & known.by_reservation.keys():
        still_us = known.since_us[stays & (known.reservation_id == r)]
        since = _EPOCH + int(still_us.min()) * _MICROSECOND
        found[r] = replace(known.by_reservation[r], servers=len(still_us), since=since)
    began = np.stack([server_id[~is_known], reservation_id[~is_known]], axis=1)
    return WaitsPlan(
        now=found,
        began=began,
        ended=known.server_id[is_over & ~np.isin(known.server_id, began[:, 0])],
        changed=tuple(wait for r, wait in found.items() if known.by_reservation.get(r) != wait),
        gone=tuple(sorted(known.by_reservation.keys() - found.keys())),
    )


def _since(known: KnownWaits, server_id: Ints, reservation_id: Ints, now_us: int) -> tuple[Ints, Bools]:
    """Return the time since which each server waits, and whether that time is stored already."""
    if not len(known.server_id):
        return np.full(len(server_id), now_us), np.zeros(len(server_id), bool)
    row = np.minimum(np.searchsorted(known.server_id, server_id), len(known.server_id) - 1)
    is_known = (known.server_id[row] == server_id) & (known.reservation_id[row] == reservation_id)
    return np.where(is_known, known.since_us[row], now_us), np.asarray(is_known)


def _undecided(snapshot: MovesSnapshot, guard: Guard, chosen: Starts, refused: Ints, *, sees_all: bool) -> Bools:
    """Return which of the stored waits go on, of those that this tick did not decide.

    The guard still refuses the server, or the snapshot lacks it. A server that only the bounds hold back does not wait
    for capacity any more, such as one whose reservation was deleted. One that is to leave at *hold* or below waits
    until its preempt is asked for: the next tick decides on that.
    """
    known, waiting = snapshot.waits, snapshot.waiting
    is_there, order = np.isin(known.server_id, waiting.id), np.argsort(waiting.id, kind="stable")
    rows = order[np.searchsorted(waiting.id, known.server_id[is_there], sorter=order)]
    reservation_id, place, rru = waiting.current_id[rows], waiting.place[rows], waiting.leaves_rru[rows]
    survive, hold = (
        guard.lacks(reservation_id, place, rru, hold=hold, yields=snapshot.yielding[rows]) for hold in (False, True)
    )
    goes_on = np.full(len(known.server_id), not sees_all)
    goes_on[is_there] = np.where(np.isin(waiting.id[rows], list(snapshot.hurried)), hold, survive) > 0
    decided = [waiting.id[list(chosen.rows)], refused, _ints(move.server_id for move in snapshot.running)]
    goes_on &= ~np.isin(known.server_id, np.concatenate(decided))
    return np.asarray(goes_on | np.isin(known.server_id, waiting.id[list(chosen.few)]))


class _Coming:
    """The servers that are on their way to reservations."""

    def __init__(
        self, snapshot: MovesSnapshot, chosen: Starts, going: Sequence[RunningMove], held_back: Sequence[RunningMove]
    ) -> None:
        waiting, rows = snapshot.waiting, list(chosen.rows)
        spare_ids = {spare.server_id for spare in snapshot.spares}
        waits = {move.move_id for move in held_back}
        arriving = [move for move in going if move.move_id not in waits and MoveStep.JOIN in move.steps]
        self._moves = Counter([move.to_reservation_id or 0 for move in arriving] + waiting.target_id[rows].tolist())
        self._replacements = Counter(move.to_reservation_id for move in arriving if move.from_buffer)
        from_buffer = _among(rows, waiting.from_buffer & waiting.urgent & ~waiting.lent)
        self._replacements.update(waiting.target_id[from_buffer].tolist())
        self._loans = Counter(loan.reservation_id for loan in chosen.loans if loan.reservation_id is not None)
        self._loans.update(s.reservation_id for s in snapshot.spares if s.is_coming)
        on_loan = [move for move in arriving if move.server_id in spare_ids]
        self._moves.subtract(move.to_reservation_id or 0 for move in on_loan)
        self._moves.subtract(waiting.target_id[_among(rows, waiting.lent)].tolist())
        self._replacements.subtract(move.to_reservation_id for move in on_loan if move.from_buffer)
        is_free = (waiting.current_id == 0) & ~waiting.in_doubt & ~waiting.lent & waiting.need_steps
        is_free[rows] = False
        self._queued = Counter(waiting.target_id[is_free].tolist())

    def moves(self, r: int) -> int:
        """Return the number of servers that arrive by a move and stay."""
        return max(self._moves[r], 0)

    def replacements(self, r: int) -> int:
        """Return the number of arriving servers that come from a shared buffer."""
        return max(self._replacements[r], 0)

    def loans(self, r: int) -> int:
        """Return the number of lent servers that have not joined yet."""
        return self._loans[r]

    def queued(self, r: int) -> int:
        """Return the number of free servers whose moves the bounds of the mover hold back."""
        return self._queued[r]

    def waits_for(self, r: int, level: Level, *, is_exchange: bool) -> WaitsFor:
        """Return what would let the next server leave, if the guard refuses it at `level`.

        is_exchange   whether other reservations wait for its servers: only those may leave at *hold*
        """
        if self.moves(r) or self.loans(r) or self.queued(r):
            return WaitsFor.ARRIVALS
        return WaitsFor.TURN if level is Level.SURVIVE and is_exchange else WaitsFor.CAPACITY


def _among(rows: Sequence[int], mask: Bools) -> Indices:
    return np.array([row for row in rows if mask[row]], np.int32)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)
