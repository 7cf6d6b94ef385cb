"""Choose the servers whose moves start, and the ones to lend to reservations that can spare none. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.departure_exceptions import StoredExceptions
from libs.domain.move import RunningMove
from libs.domain.moves_snapshot import MovesSnapshot, WaitingServers
from libs.domain.spare import Loan
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.steps import preferred_order
from services.mover.move_policy import MovePolicy
from services.mover.spares_plan import lend, waiting_by_reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The choice of one tick, as rows of the servers that wait for a move.

    rows      servers whose moves start
    few       those of `rows` that leave at *hold* or below it. The rules are asked again before they do
    refused   servers that their reservation cannot spare
    loans     servers to lend
    crowded   ids of the MSBs in which a bound keeps a server from starting that may leave
    """

    rows: tuple[int, ...]
    few: tuple[int, ...]
    refused: Indices
    loans: tuple[Loan, ...]
    crowded: frozenset[int]


def choose_starts(
    snapshot: MovesSnapshot,
    policy: MovePolicy,
    departures: Departures,
    guard: Guard,
    approved: StoredExceptions | None,
    now: datetime,
) -> Starts:
    """Return the moves to start, and the servers to lend to reservations that wait. Replacements come first, then
    unused servers, then used servers.

    The bounds per region and per MSB do not apply to replacements, because the size of the shared buffers bounds them.
    A server waits if its reservation cannot spare it.

    approved   departures below *hold* that an operator has approved
    """
    waiting, room = snapshot.waiting, _Room(snapshot, policy)
    hurried = np.isin(waiting.id, list(snapshot.hurried))
    order = preferred_order(
        urgent=waiting.urgent | hurried,
        in_use=waiting.in_use,
        to_none=(waiting.target_id == 0) | waiting.stays,
        key=waiting.id,
    )
    order = order[waiting.need_steps[order]]
    urgent, takes = waiting.urgent, waiting.runs & ~waiting.in_doubt & ~waiting.urgent
    # Departures only lower levels, so a server that is refused before the first one is refused after it too.
    is_refused = np.zeros(len(waiting), bool)
    taking = np.flatnonzero(takes)
    yielding = snapshot.yielding
    is_refused[taking] = _lacks(guard, waiting, taking, yields=yielding) > 0
    pressing = taking[hurried[taking]]
    is_refused[pressing] = _lacks(guard, waiting, pressing, hold=True, yields=yielding) > 0
    refused: list[int] = order[is_refused[order]].tolist()
    chosen: list[int] = []
    profiles = _spares_to_change(snapshot)
    for row in order[~is_refused[order]].tolist():
        if not urgent[row]:
            if not room.fits(int(waiting.msb_id[row]), takes=bool(takes[row])):
                if room.servers <= 0:
                    break
                continue
            if waiting.from_buffer[row] and waiting.stays[row]:
                if profiles[int(waiting.target_id[row])] <= 0:
                    continue
                profiles[int(waiting.target_id[row])] -= 1
            worth = int(waiting.current_id[row]), *waiting.worth(row)
            if takes[row] and not departures.allow(*worth, hurried=bool(hurried[row]), yields=bool(yielding[row])):
                refused.append(row)
                continue
        room.take(int(waiting.msb_id[row]), takes=bool(takes[row]))
        chosen.append(row)
    departures.arrive(waiting.target_id[chosen].tolist())
    departures.expect(_coming(waiting, departures.held_back))
    needy = waiting_by_reservation(snapshot, refused, departures.held_back)
    lent = lend(snapshot, needy, guard, departures, policy.loan_s_max, now)
    rows = np.array(sorted(refused), np.int32)
    rows = order[np.isin(order, rows)]
    few: list[int] = []
    if snapshot.idle is not None:  # spares come first, and they were looked for
        needless = _needless(snapshot)
        departures.owe(_owed(waiting, rows, departures.held_back, needless))
        departures.relieve_running(needless)
        wanted = rows[~np.isin(waiting.id[rows], list(needless))]
        few = _relieve(waiting, wanted, yielding, departures, guard, room)
        rows = rows[~np.isin(rows, few)]
        if approved is not None:
            excepted = _exceed(waiting, rows, yielding, departures, guard, room, approved)
            rows = rows[~np.isin(rows, excepted)]
            few += excepted
        chosen += few
    return Starts(rows=tuple(chosen), few=tuple(few), refused=rows, loans=tuple(lent), crowded=frozenset(room.crowded))


class _Room:
    """The moves that may start now: in the region, and in each MSB.

    servers   moves of any kind
    crowded   ids of the MSBs in which a move that was asked about did not fit
    """

    def __init__(self, snapshot: MovesSnapshot, policy: MovePolicy) -> None:
        self.servers = policy.moves_max - len(snapshot.running)
        self.crowded = set[int]()
        self._leave: dict[int, int] = {}
        self._start: dict[int, float] = {}
        leaving = Counter(move.msb_id for move in snapshot.running if move.takes_capacity)
        running = Counter(move.msb_id for move in snapshot.running)
        rate = policy.msb_starts_per_minute
        for msb_id, servers in snapshot.msb_servers.items():
            self._leave[msb_id] = max(1, int(servers * policy.msb_share_max)) - leaving[msb_id]
            at_a_time = math.inf if policy.msb_moves_max is None else policy.msb_moves_max - running[msb_id]
            begun = snapshot.msb_started.get(msb_id, 0)
            self._start[msb_id] = min(at_a_time, math.inf if rate is None else rate - begun)

    def fits(self, msb_id: int, *, takes: bool) -> bool:
        """Return whether one more move may start in the MSB. If not, note where moves take its place. `takes`: whether
        the move takes its server from a reservation.
        """
        if self.servers <= 0:
            self.crowded |= self._start.keys()
            return False
        fits = self._start[msb_id] > 0 and (not takes or self._leave[msb_id] > 0)
        self.crowded |= set() if fits else {msb_id}
        return fits

    def take(self, msb_id: int, *, takes: bool) -> None:
        """Count a move that starts."""
        self.servers -= 1
        self._start[msb_id] -= 1
        self._leave[msb_id] -= takes


def _lacks(
    guard: Guard, waiting: WaitingServers, rows: Ints | Indices, *, hold: bool = False, yields: Bools | None = None
) -> Floats:
    enough = None if yields is None else yields[rows]
    return guard.lacks(
        waiting.current_id[rows], waiting.place[rows], waiting.leaves_rru[rows], hold=hold, yields=enough
    )


def _relieve(
    waiting: WaitingServers, refused: Indices, yielding: Bools, departures: Departures, guard: Guard, room: _Room
) -> list[int]:
    """Return the refused servers that leave at the level *hold*, because nothing arrives at their reservation. The
    reservation that would lack the smallest share of its promise gives first.
    """
    idle = [r for r in np.unique(waiting.current_id[refused]).tolist() if departures.is_idle(r)]
    rows = refused[np.isin(waiting.current_id[refused], idle)]
    rows = rows[_lacks(guard, waiting, rows, hold=True, yields=yielding) <= 0]
    relieved: list[int] = []
    for row in _by_lack(waiting, rows, guard):
        msb_id = int(waiting.msb_id[row])
        if not room.fits(msb_id, takes=True):
            continue
        r, to = int(waiting.current_id[row]), int(waiting.target_id[row])
        if departures.relieve(r, *waiting.worth(row), yields=bool(yielding[row]), to=to):
            room.take(msb_id, takes=True)
            relieved.append(row)
    return relieved


def _by_lack(waiting: WaitingServers, rows: Indices, guard: Guard) -> list[int]:
    """Return the rows in order, first those of the reservation that would lack the smallest share of its promise."""
    worth = zip(waiting.current_id[rows].tolist(), waiting.leaves_rru[rows].tolist(), strict=True)
    share = np.array([guard.lack_share(r, rru) for r, rru in worth])
    found: list[int] = rows[np.argsort(share, kind="stable")].tolist()
    return found


def _owed(
    waiting: WaitingServers, refused: Indices, held_back: Sequence[RunningMove], needless: Container[int]
) -> Mapping[int, set[int]]:
    """Return reservation -> those from which a refused server, or one held back, waits to go to it. It does not wait
    for `needless` ones.
    """
    columns = waiting.id[refused], waiting.current_id[refused], waiting.target_id[refused]
    ways = list(zip(*(column.tolist() for column in columns), strict=True))
    ways += [(move.server_id, move.from_reservation_id or 0, move.to_reservation_id or 0) for move in held_back]
    owed: defaultdict[int, set[int]] = defaultdict(set)
    for server_id, giver, to in ways:
        if server_id not in needless:
            owed[to].add(giver)
    return owed


def _needless(snapshot: MovesSnapshot) -> set[int]:
    """Return the servers that leave at *survive* alone: they become free, or go to a shared buffer or to a request that
    waits. The levels of their own reservation come first, even if nothing is to come to it. A solve can then let it
    keep them.
    """
    found = set(snapshot.waiting.id[~snapshot.pressing].tolist())
    return found | {move.server_id for move in snapshot.running if not snapshot.presses(move)}


def _exceed(
    waiting: WaitingServers,
    refused: Indices,
    yielding: Bools,
    departures: Departures,
    guard: Guard,
    room: _Room,
    approved: StoredExceptions,
) -> list[int]:
    """Return the refused servers that leave below *hold*, and let the running moves do so that were held back. These
    are the named ones alone, within the named amounts.
    """
    held_back = [move for move in departures.held_back if move not in departures.relieved_running]
    ways = [(move.server_id, move.from_reservation_id or 0, move.to_reservation_id or 0) for move in held_back]
    named = approved.lists(*np.array(ways, np.int64).reshape(-1, 3).T)
    moves = [move for move, is_named in zip(held_back, named, strict=True) if is_named]
    departures.exceed_running(moves, approved.below_rru)
    rows = refused[approved.lists(waiting.id[refused], waiting.current_id[refused], waiting.target_id[refused])]
    excepted: list[int] = []
    for row in _by_lack(waiting, rows, guard):
        r, msb_id, below_rru = int(waiting.current_id[row]), int(waiting.msb_id[row]), approved.below_rru
        to = int(waiting.target_id[row])
        if room.fits(msb_id, takes=True) and departures.exceed(
            r, *waiting.worth(row), yields=bool(yielding[row]), to=to, below_rru=below_rru(r)
        ):
            room.take(msb_id, takes=True)
            excepted.append(row)
    return excepted


def _coming(waiting: WaitingServers, held_back: Sequence[RunningMove]) -> set[int]:
    """Return the reservations for which free servers wait because of the bounds alone. The bounds also count moves that
    are held back. So the reservations of such moves are left out.
    """
    is_free = (waiting.current_id == 0) & ~waiting.in_doubt
    return set(waiting.target_id[is_free].tolist()) - {move.from_reservation_id for move in held_back}


def _spares_to_change(snapshot: MovesSnapshot) -> Counter[int]:
    """Return shared buffer -> number of its servers whose host profile may begin to change now: a quarter of those that
    wait for it, and at least one, so that the others can replace lost servers.
    """
    waiting = snapshot.waiting
    wait = Counter(waiting.target_id[waiting.from_buffer & waiting.stays].tolist())
    under_way = Counter(move.to_reservation_id for move in snapshot.running if move.stays)
    return Counter({buffer: max(1, number // 4) - under_way[buffer] for buffer, number in wait.items()})
