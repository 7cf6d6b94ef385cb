"""Put the moves of a plan into waves, by the mover's own rules of what may leave. Pure. See docs/designs/0027."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Protocol

import numpy as np

from libs.domain.arrays import Bools, Ints
from libs.domain.holding import Holding, Place
from libs.domain.mover import MoverBounds
from libs.domain.spare import SPARES_MAX
from libs.domain.wave_loans import Lendable, WaveLoans
from libs.domain.waves import NEVER, NONE, MovesToMake, Promises, WavePlan
from libs.ras.waves.departures import Departures
from libs.ras.waves.foretold_loans import ComingLoan, Lender
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import Leaver
from libs.ras.waves.wave_time import TICK_S, wave_s


class _May(Protocol):
    """Returns whether a server may leave its reservation, and counts it as gone if it may."""

    def __call__(self, reservation_id: int, place: Place, rru: float, *, yields: bool) -> bool: ...


class _Queue:
    """The moves that wait to leave one reservation. Servers of one place and RRU wait together, unless the rules tell
    them apart: some leave at *survive* alone, and some go from a request that waits to a granted reservation.
    """

    def __init__(self) -> None:
        self._like: defaultdict[tuple[Place, float, bool, bool], deque[int]] = defaultdict(deque)

    def add(self, row: int, place: Place, rru: float, *, presses: bool, yields: bool) -> None:
        self._like[place, rru, yields, presses].append(row)

    def take(self, may_leave: Callable[[Place, float, bool], bool], *, all_kinds: bool) -> Iterator[int]:
        """Remove and yield the rows that may leave, in their order. Ask until each kind of server was refused once.

        all_kinds   False: only of the servers that may leave at *hold*
        """
        heads = [(rows[0], like) for like, rows in self._like.items() if all_kinds or like[-1]]
        heapq.heapify(heads)
        while heads:
            row, like = heapq.heappop(heads)
            if not may_leave(*like[:-1]):
                continue
            rows = self._like[like]
            rows.popleft()
            if rows:
                heapq.heappush(heads, (rows[0], like))
            else:
                del self._like[like]
            yield row

    def first(self, most: int) -> list[Leaver]:
        """Return the servers that may leave at *hold*, in their order: the first `most` of those that wait together."""
        found = [
            (row, Leaver(place, rru, yields))
            for (place, rru, yields, presses), rows in self._like.items()
            if presses
            for row in islice(rows, most)
        ]
        return [like for _, like in sorted(found)]

    def least_rru(self) -> float:
        """Return the least RRU of a server that may leave at *hold*; infinity if there is none."""
        return min((rru for _, rru, _, presses in self._like if presses), default=math.inf)

    def __len__(self) -> int:
        return len(self._like)


def plan_waves(
    moves: MovesToMake, promises: Promises, bounds: MoverBounds, lendable: Lendable | None = None
) -> WavePlan:
    """Return the waves of `moves`. A wave is all that the guard lets go at its beginning; the next one begins when all
    servers of the wave have joined. Reservations that can give nothing borrow idle servers. Without any that help, few
    servers go at *hold*. When nothing can go at *hold*, few servers go below it, and that needs an approval. Servers
    that leave at *survive* alone stay then: a solve can let their reservation keep them.

    lendable   None: nothing is lent
    """
    givers = moves.source[moves.source != NONE]
    if lendable is not None:  # those that have a lent server already may give it back
        givers = np.concatenate([givers, lendable.lent.reservation])
    guard = Guard(holdings_of(promises, np.unique(givers).tolist()))
    wave, at_hold = np.full(len(moves), NEVER, np.int64), np.zeros(len(moves), bool)
    waits = (moves.source != NONE) & ~moves.gone & (moves.leaves_rru > 0)
    queues = _queues(moves, np.flatnonzero(waits).tolist())
    chosen = np.flatnonzero(~waits).tolist()
    changed, blocked = set(queues), set[int]()  # blocked: refused at *hold*, and nothing has changed since
    below, below_rru = np.zeros(len(moves), bool), np.zeros(len(promises))
    seconds: list[float] = []
    approved: int | None = None
    lender = None if lendable is None else Lender(guard, lendable)
    gives = np.bincount(moves.source[waits & moves.presses], minlength=len(promises))
    owed = _owed(moves, waits & moves.presses)
    while True:
        departures = Departures(guard)
        departures.owe(owed)
        coming = lender.begin(departures) if lender is not None and not seconds else []
        giving = set(np.flatnonzero(gives).tolist())
        for r in sorted(changed & queues.keys()):
            chosen.extend(queues[r].take(_ask(departures.allow, r), all_kinds=True))
        departures.arrive((moves.to[chosen] + 1).tolist())
        _settle(owed, moves, waits, chosen)
        returned = set[int]()
        if lender is not None:
            returned = lender.take_back(departures, giving, len(seconds))
            coming += lender.lend(departures, queues.keys() & giving, _Waiting(queues), len(seconds))
        relieved: list[int] = []
        idle = [r for r in queues.keys() - blocked if departures.is_at_rest(r + 1)]
        for r in _by_lack(idle, queues, guard):
            if not departures.is_at_rest(r + 1):
                continue
            found = list(queues[r].take(_ask(departures.relieve, r), all_kinds=False))
            departures.arrive((moves.to[found] + 1).tolist())
            relieved += found
            blocked |= set() if found else {r}
        _settle(owed, moves, waits, relieved)
        chosen += relieved
        if lender is not None and not chosen and not coming and returned & queues.keys():
            # they gave a lent server back, and are at rest now: their next server may leave at *hold*
            changed = _land(moves, guard, [], returned, [])
            blocked -= changed
            lender.note(changed)
            continue
        if not chosen and not coming:
            approved = len(seconds) if approved is None else approved
            exceeding = _exceed(moves, departures, guard, queues)
            if not exceeding:
                break
            chosen = list(chain(*exceeding.values()))
            below[chosen] = True
            _settle(owed, moves, waits, chosen)
            for r in exceeding:
                lack_rru = float(promises.capacity_rru[r]) - guard.level(r + 1, survive=False)
                below_rru[r] = max(below_rru[r], lack_rru)
        wave[chosen], at_hold[relieved] = len(seconds), True
        of_wave = moves.seconds[chosen], moves.msb[chosen], moves.takes[chosen]
        moves_s = wave_s(*of_wave, promises.msb_servers, bounds) if chosen else 0.0
        loans_s = lender.seconds(coming) if lender is not None else 0.0
        seconds.append(max(moves_s, TICK_S + loans_s))
        gives -= np.bincount(_givers(moves, waits, chosen), minlength=len(promises))
        changed = _land(moves, guard, chosen, returned, coming)
        blocked -= changed
        if lender is not None:
            lender.note(changed)
        queues = {r: queue for r, queue in queues.items() if len(queue)} if changed else queues
        chosen = []
    return WavePlan(
        wave=wave,
        at_hold=at_hold,
        seconds=np.array(seconds),
        below=below,
        approved=approved,
        below_rru=below_rru,
        loans=WaveLoans() if lender is None else lender.loans(),
    )


class _Waiting(Mapping[int, Sequence[Leaver]]):
    """Reservation -> the first servers that wait to leave it for another one."""

    def __init__(self, queues: Mapping[int, _Queue]) -> None:
        self._queues = queues

    def __getitem__(self, r: int) -> Sequence[Leaver]:
        return self._queues[r].first(SPARES_MAX)

    def __iter__(self) -> Iterator[int]:
        return iter(self._queues)

    def __len__(self) -> int:
        return len(self._queues)


def _givers(moves: MovesToMake, waits: Bools, rows: list[int]) -> Ints:
    """Return the reservations that the rows leave for another one, once for each server that waited."""
    own = np.array(rows, np.int64)
    return moves.source[own[waits[own] & moves.presses[own]]]


def _exceed(
    moves: MovesToMake, departures: Departures, guard: Guard, queues: Mapping[int, _Queue]
) -> dict[int, list[int]]:
    """Return reservation -> the rows that leave it below *hold*."""
    found: dict[int, list[int]] = {}
    for r in _by_lack(queues, queues, guard):
        rows = list(queues[r].take(_ask(departures.exceed, r), all_kinds=False))
        if rows:
            departures.arrive((moves.to[rows] + 1).tolist())
            found[r] = rows
    return found


def _by_lack(reservations: Iterable[int], queues: Mapping[int, _Queue], guard: Guard) -> list[int]:
    """Return the reservations in order, first the one that would lack the smallest share of its promise. Its server is
    then on its way to another, which need not fall below a level too.
    """
    return sorted(reservations, key=lambda r: (guard.lack_share(r + 1, queues[r].least_rru()), r))


def _owed(moves: MovesToMake, rows: Bools) -> dict[int, Counter[int]]:
    """Return for each reservation how many of the servers `rows` (N,) each other one is to give it, by their ids."""
    owed: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for to, giver in zip((moves.to[rows] + 1).tolist(), (moves.source[rows] + 1).tolist(), strict=True):
        owed[to][giver] += 1
    return dict(owed)


def _settle(owed: Mapping[int, Counter[int]], moves: MovesToMake, waits: Bools, rows: list[int]) -> None:
    """Count the servers of `rows` off what is `owed`: they are on their way."""
    left = np.array(rows, np.int64)
    left = left[waits[left] & moves.presses[left]]
    for to, giver in zip((moves.to[left] + 1).tolist(), (moves.source[left] + 1).tolist(), strict=True):
        owed[to][giver] -= 1
        if not owed[to][giver]:
            del owed[to][giver]


def holdings_of(promises: Promises, rows: Iterable[int]) -> list[Holding]:
    """Return what the reservations of these rows hold. An id is the row plus 1, because 0 stands for none."""
    axis = promises.axis
    return [
        Holding(
            reservation_id=r + 1,
            reservation=str(promises.name[r]),
            capacity_rru=float(promises.capacity_rru[r]),
            granted_rru=float(promises.granted_rru[r]),
            survives=tuple(axis.survives[r].tolist()),
            held_rru=tuple(dict(enumerate(promises.held_rru[r, a:b].tolist(), a)) for a, b in axis.spans),
        )
        for r in rows
    ]


def _ask(may: _May, r: int) -> Callable[[Place, float, bool], bool]:
    return lambda place, rru, yields: may(r + 1, place, rru, yields=yields)


def _queues(moves: MovesToMake, rows: Iterable[int]) -> Mapping[int, _Queue]:
    queues: defaultdict[int, _Queue] = defaultdict(_Queue)
    source, place, rru = moves.source.tolist(), moves.domain.tolist(), moves.leaves_rru.tolist()
    presses, yields = moves.presses.tolist(), moves.yields.tolist()
    for row in rows:
        queues[source[row]].add(row, tuple(place[row]), rru[row], presses=presses[row], yields=yields[row])
    return queues


def _land(
    moves: MovesToMake, guard: Guard, chosen: list[int], returned: set[int], coming: Sequence[ComingLoan]
) -> set[int]:
    """Add the arrivals of a wave to what is held. Return the reservations that gained or lost servers in the wave."""
    to, domain, rru = moves.to[chosen], moves.domain[chosen], moves.brings_rru[chosen]
    for r, place, brings in zip((to + 1).tolist(), domain.tolist(), rru.tolist(), strict=True):
        guard.arrive(r, tuple(place), brings)
    for loan in coming:
        guard.arrive(loan.reservation + 1, loan.place, loan.rru)
    changed = set(np.unique(np.concatenate([to, moves.source[chosen]])).tolist()) - {NONE}
    changed |= returned | {loan.reservation for loan in coming}
    for r in changed:
        guard.start_again(r + 1)
    return changed
