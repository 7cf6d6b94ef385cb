"""Decide which idle servers to lend to reservations that can give no server away, and which to take back. Pure.

A reservation that waits for an arrival gets spare servers for the time of the exchange, so that it stays at the level
*survive*. See docs/designs/0027.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.move import RunningMove
from libs.domain.moves_snapshot import MovesSnapshot
from libs.domain.spare import SPARES_MAX, IdleServers, Loan, LoanAct, loan_s
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import IdleKinds, Worth, choose_spares, room_of_buffers


def waiting_by_reservation(
    snapshot: MovesSnapshot, blocked: Sequence[int], held_back: Sequence[RunningMove]
) -> Mapping[int, list[Worth]]:
    """Return the servers that wait to leave a reservation for another one: rows of `snapshot.waiting`, and running
    moves.

    A server that leaves at *survive* alone is left out: the reservation may as well keep it, instead of a spare. So a
    lent server does not wait for another one once its loan is over.
    """
    waiting = snapshot.waiting
    found: defaultdict[int, list[Worth]] = defaultdict(list)
    for move in held_back:
        if snapshot.presses(move):
            found[move.from_reservation_id or 0].append((move.place, move.leaves_rru))
    rows = np.array(blocked, np.int64)
    rows = rows[snapshot.pressing[rows]]
    for row in rows.tolist():
        found[int(waiting.current_id[row])].append(waiting.worth(row))
    return found


def lend(
    snapshot: MovesSnapshot,
    waiting: Mapping[int, list[Worth]],
    guard: Guard,
    departures: Departures,
    loan_s_max: float | None,
    now: datetime,
) -> list[Loan]:
    """Return the servers to lend to reservations that can give no server away and expect none. Note in `departures`
    that they arrive.

    A reservation that kept a server to the end of its loan borrows no other until that server has left. One that is
    down does not count: it helps its borrower no more than a server that was never lent.

    Servers of shared buffers, which replace lost servers, are lent only if free ones alone do not help.
    """
    idle = snapshot.idle
    if idle is None or not len(idle.id):
        return []
    present = Counter(spare.reservation_id for spare in snapshot.spares)
    late = {
        spare.reservation_id
        for spare in snapshot.spares
        if spare.recalled_at is not None and spare.is_late(now) and spare.is_up
    }
    stock, loans = _Stock(idle), list[Loan]()
    for r in sorted(waiting):
        most = SPARES_MAX - present[r]
        if most <= 0 or r in late or not departures.is_idle(r) or not stock.has_any:
            continue
        rru = stock.rru_for(r)
        chosen = choose_spares(guard, r, waiting[r], stock.of_use(rru, buffers=False), most=most)
        if not chosen:
            few = min([most, *stock.room_of(rru)])
            chosen = choose_spares(guard, r, waiting[r], stock.of_use(rru, buffers=True), most=few)
        until = now + timedelta(seconds=loan_s(snapshot.foretold_s.get(r), loan_s_max))
        for row in stock.take(chosen):
            server_id, generation = int(idle.id[row]), int(idle.generation[row])
            begins = Loan(act=LoanAct.LEND, server_id=server_id, generation=generation, reservation_id=r, until=until)
            loans.append(begins)
            departures.arrive([r])
    return loans


class _Stock:
    """The idle servers that are not lent yet. Those of one place, hardware type and shared buffer are of one kind."""

    def __init__(self, idle: IdleServers) -> None:
        self._idle, self._room = idle, Counter(idle.room)
        kinds = np.column_stack([idle.place, idle.hardware_type_id, idle.buffer_id])
        kinds, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        by_preference = np.argsort(first)
        kinds = kinds[by_preference]
        self._place, self._type, self._buffer = kinds[:, :-2], kinds[:, -2], kinds[:, -1]
        place = np.empty(len(first), np.int64)
        place[by_preference] = np.arange(len(first))
        self._rows: list[list[int]] = [[] for _ in first]
        for row, k in enumerate(place[kind.reshape(-1)].tolist()):
            self._rows[k].append(row)
        self._number = np.array([len(rows) for rows in self._rows], np.int64)

    @property
    def has_any(self) -> bool:
        """Return whether a server is left."""
        return bool(self._number.any())

    def rru_for(self, reservation_id: int) -> Floats:
        """Return the worth (C,) of a server of each kind for the reservation; 0: of no use."""
        types, index = np.unique(self._type, return_inverse=True)
        worth = [self._idle.rru.get((reservation_id, kind), 0.0) for kind in types.tolist()]
        return np.array(worth, np.float64)[index]

    def room_of(self, rru: Floats) -> list[int]:
        """Return how many servers may be lent of each shared buffer that has some of use."""
        return room_of_buffers(self._buffer, (rru > 0) & (self._number > 0) & (self._buffer != 0), self._room)

    def of_use(self, rru: Floats, *, buffers: bool) -> IdleKinds:
        """Return the kinds for a reservation, without or with those of shared buffers that may lend."""
        open_ones = [buffer for buffer, room in self._room.items() if room > 0] if buffers else []
        is_open = (self._buffer == 0) | np.isin(self._buffer, open_ones)
        return IdleKinds(place=self._place, rru=rru, number=np.where((rru > 0) & is_open, self._number, 0))

    def take(self, kinds: Sequence[int]) -> list[int]:
        """Remove a server of each of these kinds. Return their rows."""
        rows = []
        for k in kinds:
            rows.append(self._rows[k].pop(0))
            self._number[k] -= 1
            self._room[int(self._buffer[k])] -= 1
        return rows


def take_back(snapshot: MovesSnapshot, now: datetime, *, sees_all: bool) -> list[Loan]:
    """Return the loans to end, and those to forget because their server has left.

    A loan ends at its time. It ends before if its server cannot be used any more, or if its reservation has no server
    left to give to another reservation. Its server then leaves as any other does, under the guard.

    sees_all   False: the snapshot lacks some waiting servers, so the reservations may have more to give
    """
    waiting = snapshot.waiting
    leaves = (waiting.current_id != 0) & snapshot.pressing & ~waiting.in_doubt
    giving = set(waiting.current_id[leaves].tolist())
    giving |= {move.from_reservation_id for move in snapshot.running if snapshot.presses(move)}
    loans = []
    for spare in snapshot.spares:
        is_needed = spare.reservation_id in giving or not sees_all
        if spare.recalled_at is None and spare.usable and is_needed and not spare.is_late(now):
            continue
        is_gone = spare.has_left or spare.keeps
        if is_gone or spare.recalled_at is None:
            act = LoanAct.FORGET if is_gone else LoanAct.RECALL
            ended = Loan(
                act=act,
                server_id=spare.server_id,
                generation=spare.generation,
                reservation_id=spare.reservation_id,
            )
            loans.append(ended)
    return loans
