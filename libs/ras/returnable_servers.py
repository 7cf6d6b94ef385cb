"""Count the servers that a reservation could give back and stay whole. Arrays only, without a solver."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from libs.domain.arrays import Floats, Ints
from libs.domain.reservation import ROUNDING


def returnable(held: Ints, rru: Floats, capacity: float, *, survives: bool) -> int:
    """Return the number of servers that may go one by one, while `capacity` stays covered.

    held       (M, T) int   servers by MSB and hardware type
    rru        (T,) RRU     of one server
    survives   whether `capacity` must also be there after the loss of any one MSB

    The next to go is the server with the fewest RRU in the MSB with the most. The loss of that MSB takes it anyway.
    Another order may let more go.
    """
    cheapest = [t for t in rru.argsort(kind="stable").tolist() if held[:, t].any()]
    left, value = held.tolist(), rru.tolist()
    fullest = [(-load, m) for m, load in enumerate((held @ rru).tolist()) if held[m].any()]
    heapify(fullest)
    total, enough, gone = -sum(load for load, _ in fullest), capacity * (1 - ROUNDING), 0
    while fullest:
        load, m = heappop(fullest)
        t = next(t for t in cheapest if left[m][t])
        largest = max(-load - value[t], -fullest[0][0] if fullest else 0.0) if survives else 0.0
        if total - value[t] - largest < enough:
            return gone
        left[m][t] -= 1
        total, gone = total - value[t], gone + 1
        if any(left[m]):
            heappush(fullest, (load + value[t], m))
    return gone
