"""Choose the spare servers through which a reservation can give others away at the level *survive*. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.holding import Place
from libs.domain.spare import SPARES_MAX
from libs.ras.waves.guard import Guard

Worth = tuple[Place, float]
"""The domains of a server, and its RRU for the reservation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdleKinds:
    """C kinds of idle servers, in order of preference. Servers of a kind are alike: one place and one worth.

    place   (C, L) int their domains, as in `libs.domain.holding.Place`
    rru     (C,) RRU   the worth of each for the reservation
    number  (C,) int   how many there are
    """

    place: Ints
    rru: Floats
    number: Ints

    def worth(self, kind: int) -> Worth:
        """Return the place and the worth of a server of this kind."""
        return tuple(self.place[kind].tolist()), float(self.rru[kind])


def room_of_buffers(buffer: Ints, of_use: Bools, room: Mapping[int, int]) -> list[int]:
    """Return how many servers each shared buffer may lend that has some of use, of C kinds of idle servers.

    buffer  (C,) the shared buffer of each kind
    of_use  (C,) whether servers of a kind are in a shared buffer, of worth to the borrower, and not lent yet
    room    shared buffer -> number of its servers that may be lent; absent: none
    """
    return [room[b] for b in np.unique(buffer[of_use]).tolist() if room.get(b, 0) > 0]


def choose_spares(
    guard: Guard, reservation_id: int, waiting: Sequence[Worth], idle: IdleKinds, *, most: int = SPARES_MAX
) -> list[int]:
    """Return the kinds of the servers to lend to a reservation, a kind for each server, at most `most`. With them as
    many of the `waiting` servers can leave at a time as `most` spares allow. Return [] if none could leave even so.

    A spare helps most in domains where little is held, because the worst loss counts. So take the one with
    which the reservation survives most. The guard is as before afterwards.
    """
    lent: list[int] = []
    gone: list[Worth] = []
    left = idle.number.copy()
    for server in waiting[:most]:
        added = _let_leave(guard, reservation_id, server, idle, left, most - len(lent))
        if added is None:
            break
        lent += added
        guard.let_go(reservation_id, *server)
        gone.append(server)
    for server in gone:
        guard.arrive(reservation_id, *server)
    for k in lent:
        guard.let_go(reservation_id, *idle.worth(k))
    return lent


def _let_leave(
    guard: Guard, reservation_id: int, server: Worth, idle: IdleKinds, left: Ints, most: int
) -> list[int] | None:
    """Lend servers until `server` may leave, and count them off `left`. Return their kinds; None, with nothing lent, if
    that takes too many.
    """
    lent: list[int] = []
    while not guard.may_leave(reservation_id, *server):
        guard.let_go(reservation_id, *server)
        best = _best(guard, reservation_id, idle, left) if len(lent) < most else None
        guard.arrive(reservation_id, *server)
        if best is None:
            for k in lent:
                guard.let_go(reservation_id, *idle.worth(k))
                left[k] += 1
            return None
        guard.arrive(reservation_id, *idle.worth(best))
        left[best] -= 1
        lent.append(best)
    return lent


def _best(guard: Guard, reservation_id: int, idle: IdleKinds, left: Ints) -> int | None:
    """Return the kind with which the reservation survives most, and among equals holds most; None: none is left."""
    if not (left > 0).any():
        return None
    survives, holds = guard.levels_with(reservation_id, idle.place, idle.rru)
    survives = np.where(left > 0, survives, -np.inf)
    return int(np.argmax(np.where(survives == survives.max(), holds, -np.inf)))
