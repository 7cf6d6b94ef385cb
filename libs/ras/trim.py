"""What a plan takes and nobody needs is left free."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from libs.ras.cost import loads
from libs.ras.problem import CountProblem, Counts

_TOLERANCE = 1e-9


def without_needless(problem: CountProblem, counts: Counts) -> Counts:
    """(N,) the counts without servers that a reservation would newly get and whose absence costs nothing.

    No term of the goal minds a server too many where there is neither an MSB's loss to survive nor a limit, as in a
    shared buffer, and a relaxation solved from the interior spreads over all answers of the same cost: the buffer
    would swallow what is free. What is bound already stays, because leaving costs. The fullest MSB gives first, so
    that what remains is spread. Reservations with an affinity are left alone: to them less may be worse.
    """
    load = loads(problem, counts)  # (R, M) RRU
    worst = np.where(problem.survives, load.max(1, initial=0.0), 0.0)
    over = load.sum(1) - worst - problem.capacity_rru
    over[~np.isnan(problem.affinity_share).all(1)] = 0.0
    trimmed, held, first = counts.copy(), problem.held, problem.first
    for r in np.flatnonzero(over > 0):
        left = float(over[r]) + _TOLERANCE * max(1.0, float(problem.capacity_rru[r]))
        columns = np.arange(first[r], first[r + 1])
        columns = columns[(trimmed[columns] > held[columns]) & (problem.rru[columns] > 0)]
        fullest = [(-int(trimmed[n]), int(n)) for n in columns]
        heapify(fullest)
        while fullest:
            count, n = heappop(fullest)
            if problem.rru[n] > left:
                continue
            left -= float(problem.rru[n])
            trimmed[n] -= 1
            if trimmed[n] > held[n]:
                heappush(fullest, (count + 1, n))
    return trimmed
