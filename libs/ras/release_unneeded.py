"""What a plan takes and nobody needs is left free."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from libs.domain.fleet import Reservations
from libs.ras.server_classes import Counts, Places

_TOLERANCE = 1e-9


def without_needless(reservations: Reservations, places: Places, wanted: Counts) -> Counts:
    """(R, K) the counts without servers that a reservation would newly get and whose absence costs nothing.

    No term of the goal minds a server too many where there is neither an MSB's loss to survive nor a limit, as in a
    shared buffer, and a relaxation solved from the interior spreads over all answers of the same cost: the buffer
    would swallow what is free. What is bound already stays, because leaving costs. The fullest MSB gives first, so
    that what remains is spread. Reservations with an affinity are left alone: to them less may be worse.
    """
    q, trimmed = reservations, wanted.copy()
    load = np.zeros((len(q), int(places.msb.max(initial=-1)) + 1))  # (R, M) RRU
    np.add.at(load.T, places.msb, (places.rru * wanted).T)
    worst = np.where(q.survives_msb_loss, load.max(1, initial=0.0), 0.0)
    over = load.sum(1) - worst - q.capacity_rru
    over[~np.isnan(q.affinity_share).all(1)] = 0.0
    for r in np.flatnonzero(over > 0):
        left = float(over[r]) + _TOLERANCE * max(1.0, float(q.capacity_rru[r]))
        held, rru = places.held[r], places.rru[r]
        fullest = [(-int(trimmed[r, k]), int(k)) for k in np.flatnonzero((trimmed[r] > held) & (rru > 0))]
        heapify(fullest)
        while fullest:
            count, k = heappop(fullest)
            if rru[k] > left:
                continue
            left -= float(rru[k])
            trimmed[r, k] -= 1
            if trimmed[r, k] > held[k]:
                heappush(fullest, (count + 1, k))
    return trimmed
