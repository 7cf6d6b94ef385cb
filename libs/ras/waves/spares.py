"""Choose the spare servers through which a reservation can give others away at the level *survive*. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.spare import SPARES_MAX
from libs.ras.waves.guard import Guard

Worth = tuple[int, float]
"""The MSB of a server, and its RRU for the reservation."""


def choose_spares(
    guard: Guard, reservation_id: int, waiting: Sequence[Worth], idle: Sequence[Worth], *, most: int = SPARES_MAX
) -> list[int]:
    """Return the indices of the servers in `idle` to lend to a reservation, at most `most`. With them as many of the
    `waiting` servers can leave at a time as `most` spares allow. Return [] if none could leave even so.

    A spare helps most in an MSB where little is held, because the loss of the worst MSB counts. So take the server with
    which the reservation survives most. The guard is as before afterwards.
    """
    lent: list[int] = []
    left: list[Worth] = []
    for server in waiting[:most]:
        added = _let_leave(guard, reservation_id, server, idle, set(lent), most - len(lent))
        if added is None:
            break
        lent += added
        guard.let_go(reservation_id, *server)
        left.append(server)
    for server in left:
        guard.arrive(reservation_id, *server)
    for k in lent:
        guard.let_go(reservation_id, *idle[k])
    return lent


def _let_leave(
    guard: Guard, reservation_id: int, server: Worth, idle: Sequence[Worth], taken: set[int], most: int
) -> list[int] | None:
    """Lend servers until `server` may leave. Return their indices; None, with nothing lent, if that takes too many."""
    lent: list[int] = []
    while not guard.may_leave(reservation_id, *server):
        guard.let_go(reservation_id, *server)
        best = _best(guard, reservation_id, idle, taken.union(lent)) if len(lent) < most else None
        guard.arrive(reservation_id, *server)
        if best is None:
            for k in lent:
                guard.let_go(reservation_id, *idle[k])
            return None
        guard.arrive(reservation_id, *idle[best])
        lent.append(best)
    return lent


def _best(guard: Guard, reservation_id: int, idle: Sequence[Worth], taken: set[int]) -> int | None:
    """Return the server with which the reservation survives most, and among equals holds most; None: all are taken."""
    best, most = None, (-1.0, -1.0)
    seen: set[Worth] = set()
    for k, worth in enumerate(idle):
        if k in taken or worth in seen:
            continue
        seen.add(worth)
        guard.arrive(reservation_id, *worth)
        levels = guard.level(reservation_id, True), guard.level(reservation_id, False)
        guard.let_go(reservation_id, *worth)
        if levels > most:
            best, most = k, levels
    return best
