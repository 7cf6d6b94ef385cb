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
from libs.domain.waves import NONE
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import IdleKinds, Leaver, choose_spares, in_turn


def waiting_by_reservation(
    snapshot: MovesSnapshot, blocked: Sequence[int], held_back: Sequence[RunningMove]
) -> Mapping[int, list[Leaver]]:
    """Return the servers that wait to leave a reservation for another one: rows of `snapshot.waiting`, and running
    moves.

    A server that leaves at *survive* alone is left out: the reservation may as well keep it, instead of a spare. So a
    lent server does not wait for another one once its loan is over.
    """
    waiting = snapshot.waiting
    found: defaultdict[int, list[Leaver]] = defaultdict(list)
    for move in held_back:
        if snapshot.presses(move):
            found[move.from_reservation_id or 0].append(Leaver(move.place, move.leaves_rru, snapshot.yields(move)))
    rows = np.array(blocked, np.int64)
    rows, yielding = rows[snapshot.pressing[rows]], snapshot.yielding
    for row in rows.tolist():
        found[int(waiting.current_id[row])].append(Leaver(*waiting.worth(row), bool(yielding[row])))
    return found


def lend(
    snapshot: MovesSnapshot,
    waiting: Mapping[int, list[Leaver]],
    guard: Guard,
    departures: Departures,
    loan_s_max: float | None,
    now: datetime,
) -> list[Loan]:
    """Return the servers to lend to reservations that can give no server away and expect none. Note in `departures`
    that they arrive.

    A reservation that kept a server to the end of its loan borrows no other until that server has left. One that is
    down does not count: it helps its borrower no more than a server that was never lent.
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
    for r in in_turn(guard, waiting):
        most = SPARES_MAX - present[r]
        if most <= 0 or r in late or not departures.is_idle(r) or not stock.kinds.number.any():
            continue
        chosen = choose_spares(guard, r, waiting[r], stock.kinds, stock.rru_for(r), most=most)
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
        self._idle = idle
        kinds = np.column_stack([idle.place, idle.hardware_type_id, idle.buffer_id])
        kinds, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        by_preference = np.argsort(first)
        kinds = kinds[by_preference]
        self._type, buffer = kinds[:, -2], kinds[:, -1]
        place = np.empty(len(first), np.int64)
        place[by_preference] = np.arange(len(first))
        self._rows: list[list[int]] = [[] for _ in first]
        for row, k in enumerate(place[kind.reshape(-1)].tolist()):
            self._rows[k].append(row)
        number = np.array([len(rows) for rows in self._rows], np.int64)
        self.kinds = IdleKinds(kinds[:, :-2], np.where(buffer == 0, NONE, buffer), number, idle.room)

    def rru_for(self, reservation_id: int) -> Floats:
        """Return the worth (C,) of a server of each kind for the reservation; 0: of no use."""
        types, index = np.unique(self._type, return_inverse=True)
        worth = [self._idle.rru.get((reservation_id, kind), 0.0) for kind in types.tolist()]
        return np.array(worth, np.float64)[index]

    def take(self, kinds: Sequence[int]) -> list[int]:
        """Remove a server of each of these kinds. Return their rows."""
        rows = []
        for k in kinds:
            rows.append(self._rows[k].pop(0))
            self.kinds.count(k, -1)
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
