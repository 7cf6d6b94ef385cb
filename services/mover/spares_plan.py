"""Decide which idle servers to lend to reservations that can give no server away, and which to take back. Pure.

A reservation that waits for an arrival gets spare servers for the time of the exchange, so that it stays at the level
*survive*. See docs/designs/0027.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from libs.domain.move import MovesSnapshot, MoveStep, RunningMove
from libs.domain.spare import SPARES_MAX, Loan, Spare
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import Worth, choose_spares


def waiting_by_reservation(
    snapshot: MovesSnapshot, blocked: Sequence[int], held_back: Sequence[RunningMove]
) -> Mapping[int, list[Worth]]:
    """Return the servers that wait to leave a reservation for another one: rows of `snapshot.waiting`, and running
    moves.

    A server that becomes free or goes to a shared buffer is left out: the reservation may as well keep it, instead of a
    spare. So a lent server does not wait for another one once its loan is over.
    """
    waiting = snapshot.waiting
    found: defaultdict[int, list[Worth]] = defaultdict(list)
    for move in held_back:
        if _gives(move):
            found[move.from_reservation_id or 0].append((move.msb_id, move.leaves_rru))
    for row in blocked:
        if waiting.target_id[row] != 0 and not waiting.to_buffer[row]:
            worth = int(waiting.msb_id[row]), float(waiting.leaves_rru[row])
            found[int(waiting.current_id[row])].append(worth)
    return found


def lend(
    snapshot: MovesSnapshot, waiting: Mapping[int, list[Worth]], guard: Guard, departures: Departures
) -> list[Loan]:
    """Return the servers to lend to reservations that can give no server away and expect none. Note in `departures`
    that they arrive.

    Servers of shared buffers, which replace lost servers, are lent only if free ones alone do not help.
    """
    idle = snapshot.idle
    if idle is None or not len(idle.id):
        return []
    present = Counter(spare.reservation_id for spare in snapshot.spares)
    kinds = list(zip(idle.msb_id.tolist(), idle.hardware_type_id.tolist(), strict=True))
    buffer, room = idle.buffer_id.tolist(), Counter(idle.room)
    taken: set[int] = set()
    loans: list[Loan] = []
    for r in sorted(waiting):
        most = SPARES_MAX - present[r]
        if most <= 0 or not departures.is_idle(r):
            continue
        of_use = [
            (k, (msb, idle.rru[r, kind]))
            for k, (msb, kind) in enumerate(kinds)
            if k not in taken and (r, kind) in idle.rru and (not buffer[k] or room[buffer[k]] > 0)
        ]
        free = [(k, worth) for k, worth in of_use if not buffer[k]]
        few = min([most, *(room[buffer[k]] for k, _ in of_use if buffer[k])])
        chosen = _choose(guard, r, waiting[r], free, most) or _choose(guard, r, waiting[r], of_use, few)
        for k in chosen:
            taken.add(k)
            room[buffer[k]] -= 1
            loans.append(Loan(server_id=int(idle.id[k]), generation=int(idle.generation[k]), reservation_id=r))
            departures.arrive([r])
    return loans


def _choose(
    guard: Guard, reservation_id: int, waiting: Sequence[Worth], idle: Sequence[tuple[int, Worth]], most: int
) -> list[int]:
    """Return the indices of the idle servers to lend. `idle` has the index and the worth of each idle server."""
    return [idle[k][0] for k in choose_spares(guard, reservation_id, waiting, [w for _, w in idle], most=most)]


def take_back(snapshot: MovesSnapshot, *, sees_all: bool) -> list[Loan]:
    """Return the loans to end. A loan ends if its server cannot be used any more, or if its reservation has no server
    left to give to another reservation.

    sees_all   False: the snapshot lacks some waiting servers, so the reservations may have more to give
    """
    waiting = snapshot.waiting
    leaves = (waiting.current_id != 0) & (waiting.target_id != 0) & ~waiting.to_buffer & ~waiting.in_doubt
    giving = set(waiting.current_id[leaves].tolist())
    giving |= {move.from_reservation_id for move in snapshot.running if _gives(move)}

    def is_over(spare: Spare) -> bool:
        return not spare.usable or (sees_all and spare.reservation_id not in giving)

    return [
        Loan(server_id=spare.server_id, generation=spare.generation, reservation_id=None)
        for spare in snapshot.spares
        if is_over(spare)
    ]


def _gives(move: RunningMove) -> bool:
    """Return whether the move brings its server to another reservation. It joins nothing if it becomes free or goes to
    a shared buffer.
    """
    return MoveStep.JOIN in move.steps
