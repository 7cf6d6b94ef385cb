"""Hand out the free servers of a region to the reservations that are short. No other server changes hands."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.power_use import feedable, gains_w
from libs.domain.reservation import ROUNDING
from libs.ras.evaluate import Coverage

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Handout:
    """The free servers that each reservation gets.

    free        (T,) int      the servers of each hardware type that were free
    taken       (R, T) int    those that a reservation gets
    short_rru   (R,) RRU      the RRU that a reservation lacks in spite of them
    unknown     (R,) bool     whether it is short and gets none because only a solve can tell which of them would help
    """

    free: Ints
    taken: Ints
    short_rru: Floats
    unknown: Bools


def hand_out(snapshot: FleetSnapshot, covered: Coverage) -> Handout:
    """Give free servers to the reservations that are short, until they are whole or none is left that helps.

    covered   the coverage of the snapshot's targets

    The order is that of replacements: the higher class of priority first, and in a class the larger lack as a share of
    the capacity. Each takes a server of the MSB in which it holds least. Servers outside its largest MSB are the ones
    that count if it must survive a loss. So it ends whole if the free servers that are left to it can make it so. Hard
    limits on MSBs are kept, and may leave room that whole servers cannot fill.

    A reservation that survives the loss of a further kind of domain gets none, and stays short: only a solve weighs
    these domains. The same holds for one with other limits per kind of domain, and for one that asks for resources.

    A domain with a limit on power gives only as many of its free servers as it could feed at once.

    Racks, spread, affinity and move costs are left to a solve. Time: at most a few microseconds for each free server,
    and for each MSB of each reservation that is short.
    """
    q, M, T = snapshot.reservations, len(snapshot.topology.msbs), len(snapshot.hardware_types)
    unbound = np.flatnonzero((snapshot.servers.target < 0) & snapshot.servers.lasting).astype(np.int32)
    taken, short = np.zeros((len(q), T), np.int64), covered.shortfall.copy()
    simple = ~q.survives_loss_of.any(1) & ~q.limits_domains & ~q.asks_resources
    is_short = short > ROUNDING * q.capacity_rru
    lacking = np.flatnonzero(is_short & simple)
    fed = _fed(snapshot, unbound, np.asarray((q.rru[lacking] > 0).any(0)))
    cell = snapshot.server_msb[fed].astype(np.int64) * T + snapshot.servers.hardware_type[fed]
    stock = np.bincount(cell, minlength=M * T).reshape(M, T).tolist()
    share = short[lacking] / np.maximum(q.capacity_rru[lacking], _TOLERANCE)
    for r in lacking[np.lexsort((lacking, -share, -q.priority[lacking]))].tolist():
        msbs = np.flatnonzero(q.allowed[r, snapshot.topology.msb_datacenter])
        taken[r], short[r] = _serve(
            stock,
            msbs.tolist(),
            covered.by_msb[r],
            q.rru[r],
            float(q.capacity_rru[r]),
            bool(q.survives_msb_loss[r]),
            float(q.msb_limit_rru[r]),
        )
    free = np.bincount(snapshot.servers.hardware_type[unbound], minlength=T)
    return Handout(free=free, taken=taken, short_rru=short, unknown=is_short & ~simple)


def _fed(snapshot: FleetSnapshot, rows: Indices, wanted: Bools) -> Indices:
    """Return those of the free servers `rows` that could all be bound at once within the limits on power.

    wanted   (T,) the hardware types to prefer; of these, and of the others, servers that add less W come first
    """
    kind = snapshot.servers.hardware_type[rows]
    order = np.lexsort((rows, gains_w(snapshot)[rows], ~wanted[kind]))
    return np.asarray(rows[order][feedable(snapshot, rows[order])])


def _serve(
    stock: list[list[int]],
    msbs: list[int],
    held: Floats,
    rru: Floats,
    capacity: float,
    survives: bool,
    limit: float,
) -> tuple[Ints, float]:
    """Give one reservation servers of `stock`, in place. Return the number by type (T,), and the RRU that it lacks.

    stock   (M, T) free servers
    msbs    those that the reservation may use
    held    (M,) RRU that it holds
    rru     (T,) RRU of one server
    limit   RRU that one MSB may hold at most
    """
    value, taken = rru.tolist(), np.zeros(len(rru), np.int64)
    types = [t for t in np.argsort(-rru, kind="stable").tolist() if value[t] > 0]
    total, largest = float(held.sum()), float(held.max(initial=0.0)) if survives else 0.0
    enough = capacity * (1 - ROUNDING)
    lowest = [(float(held[m]), m) for m in msbs if any(stock[m][t] for t in types)]
    heapify(lowest)
    while lowest and total - largest < enough:
        there, m = heappop(lowest)
        if survives and not lowest and there >= largest:
            break  # the loss of this MSB would take all that it could add
        for t in types:
            if stock[m][t] and there + value[t] <= limit * (1 + _TOLERANCE):
                break
        else:
            continue
        stock[m][t] -= 1
        taken[t] += 1
        there, total = there + value[t], total + value[t]
        largest = max(largest, there) if survives else 0.0
        if any(stock[m][t] for t in types):
            heappush(lowest, (there, m))
    return taken, max(0.0, capacity - (total - largest))
