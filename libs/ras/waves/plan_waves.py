"""Put the moves of a plan into waves, by the mover's own rules of what may leave. Pure. See docs/designs/0027."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import numpy as np

from libs.domain.holding import Holding
from libs.domain.mover import MoverBounds
from libs.domain.reservation import ROUNDING
from libs.domain.waves import NEVER, NONE, MovesToMake, Promises, WavePlan
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.wave_time import wave_s


class _Queue:
    """The moves that wait to leave one reservation. Servers of one MSB and RRU wait together, because the guard does
    not tell them apart.
    """

    def __init__(self) -> None:
        self._like: defaultdict[tuple[int, float], deque[int]] = defaultdict(deque)

    def add(self, row: int, msb: int, rru: float) -> None:
        self._like[msb, rru].append(row)

    def take(self, may_leave: Callable[[int, float], bool]) -> Iterator[int]:
        """Remove and yield the rows that may leave, in their order. Ask until each kind of server was refused once."""
        heads = [(rows[0], like) for like, rows in self._like.items()]
        heapq.heapify(heads)
        while heads:
            row, like = heapq.heappop(heads)
            if not may_leave(*like):
                continue
            rows = self._like[like]
            rows.popleft()
            if rows:
                heapq.heappush(heads, (rows[0], like))
            else:
                del self._like[like]
            yield row

    def least_rru(self) -> float:
        """Return the least RRU of a server that waits."""
        return min(rru for _, rru in self._like)

    def __len__(self) -> int:
        return len(self._like)


def plan_waves(moves: MovesToMake, promises: Promises, bounds: MoverBounds) -> WavePlan:
    """Return the waves of `moves`. A wave is all that the guard lets go at its beginning; the next one begins when all
    servers of the wave have joined. When nothing can go at *hold*, few servers go below it, and that needs an approval.
    """
    guard = Guard(holdings_of(promises, np.unique(moves.source[moves.source != NONE]).tolist()))
    wave, at_hold = np.full(len(moves), NEVER, np.int64), np.zeros(len(moves), bool)
    waits = (moves.source != NONE) & ~moves.gone & (moves.leaves_rru > 0)
    queues = _queues(moves, np.flatnonzero(waits).tolist())
    chosen = np.flatnonzero(~waits).tolist()
    changed, blocked = set(queues), set[int]()  # blocked: refused at *hold*, and nothing has changed since
    below, below_rru = np.zeros(len(moves), bool), np.zeros(len(promises))
    seconds: list[float] = []
    approved: int | None = None
    while True:
        departures = Departures(guard)
        for r in sorted(changed & queues.keys()):
            chosen.extend(queues[r].take(_ask(departures.allow, r)))
        departures.arrive((moves.to[chosen] + 1).tolist())
        relieved: list[int] = []
        for r in sorted(queues.keys() - blocked):
            if departures.is_idle(r + 1):
                found = list(queues[r].take(_ask(departures.relieve, r)))
                relieved += found
                blocked |= set() if found else {r}
        chosen += relieved
        if not chosen:
            approved = len(seconds) if approved is None else approved
            exceeding = _exceed(moves, departures, guard, queues)
            if not exceeding:
                break
            chosen = list(chain(*exceeding.values()))
            below[chosen] = True
            for r in exceeding:
                lack_rru = float(promises.capacity_rru[r]) - guard.level(r + 1, survive=False)
                below_rru[r] = max(below_rru[r], lack_rru)
        wave[chosen], at_hold[relieved] = len(seconds), True
        seconds.append(wave_s(moves, np.array(chosen), promises.msb_servers, bounds))
        changed = _land(moves, guard, chosen)
        blocked -= changed
        queues = {r: queue for r, queue in queues.items() if len(queue)} if changed else queues
        chosen = []
    return WavePlan(
        wave=wave, at_hold=at_hold, seconds=np.array(seconds), below=below, approved=approved, below_rru=below_rru
    )


def _exceed(
    moves: MovesToMake, departures: Departures, guard: Guard, queues: Mapping[int, _Queue]
) -> dict[int, list[int]]:
    """Return reservation -> the rows that leave it below *hold*. The reservations that would lack least come first: a
    server that leaves one of them is on its way to another, which then need not fall below its promise.
    """
    lack_rru = {r: queue.least_rru() / max(guard.capacity_rru(r + 1), ROUNDING) for r, queue in queues.items()}
    found: dict[int, list[int]] = {}
    for r in sorted(queues, key=lambda r: (lack_rru[r], r)):
        rows = list(queues[r].take(_ask(departures.exceed, r)))
        if rows:
            departures.arrive((moves.to[rows] + 1).tolist())
            found[r] = rows
    return found


def holdings_of(promises: Promises, rows: Iterable[int]) -> list[Holding]:
    """Return what the reservations of these rows hold. An id is the row plus 1, because 0 stands for none."""
    return [
        Holding(
            reservation_id=r + 1,
            reservation=str(promises.name[r]),
            capacity_rru=float(promises.capacity_rru[r]),
            survives_msb_loss=bool(promises.survives_msb_loss[r]),
            held_rru=dict(enumerate(promises.held_rru[r].tolist())),
        )
        for r in rows
    ]


def _ask(may: Callable[[int, int, float], bool], r: int) -> Callable[[int, float], bool]:
    return lambda msb, rru: may(r + 1, msb, rru)


def _queues(moves: MovesToMake, rows: Iterable[int]) -> Mapping[int, _Queue]:
    queues: defaultdict[int, _Queue] = defaultdict(_Queue)
    source, msb, rru = moves.source.tolist(), moves.msb.tolist(), moves.leaves_rru.tolist()
    for row in rows:
        queues[source[row]].add(row, msb[row], rru[row])
    return queues


def _land(moves: MovesToMake, guard: Guard, chosen: list[int]) -> set[int]:
    """Add the arrivals of a wave to what is held. Return the reservations that gained or lost servers in the wave."""
    to, msb, rru = moves.to[chosen], moves.msb[chosen], moves.brings_rru[chosen]
    for r, m, brings in zip((to + 1).tolist(), msb.tolist(), rru.tolist(), strict=True):
        guard.arrive(r, m, brings)
    changed = set(np.unique(np.concatenate([to, moves.source[chosen]])).tolist()) - {NONE}
    for r in changed:
        guard.start_again(r + 1)
    return changed
