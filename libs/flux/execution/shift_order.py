"""Order the shifts of products that are exchanged between regions, so that no service has more traffic than it is
sized for on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from libs.domain.arrays import Floats, Indices

Pair = tuple[int, int, int, float]
"""A shift: product, the region that it leaves, the region that it goes to, and the share of the product."""
ROUNDS_MAX = 100
"""Largest number of rounds, so that the work stays linear in the shifts. The last round takes all that are left."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShiftOrder:
    """An order of shifts.

    waits   per shift, the earlier shifts that must be done before it
    extra   (S, R) capacity that services need on top for a while, in units of their own type
    """

    waits: tuple[tuple[int, ...], ...]
    extra: Floats


def order_shifts(
    pairs: Sequence[Pair],
    phi: Floats,
    present: Floats,
    most: Floats,
    sized: Floats,
    spare: Floats,
    allowed: Floats,
    kind: Indices,
    tolerance: Floats,
) -> ShiftOrder:
    """Return an order in which every state has the capacity for its traffic, as far as the pools have room.

    phi        (S, P) capacity for all of today's traffic of a product
    present    (P, R) shares of a product's traffic before the shifts
    most       (P,)   largest traffic of a product until the end of the step, as a share of today's; at least 1
    sized      (S, R) capacity for traffic after the upsizes and before the downsizes
    spare      (H, R) capacity that pools have left after the upsizes
    allowed    (S, R) capacity that services may get on top
    kind       (S,)   hardware type of each service
    tolerance  (S,)   excess that does not matter

    Shifts that fit together, without credit for what leaves, begin at once. The next ones wait for the traffic that
    leaves their region, if a service serves both. If none fits, because products change places and every service is
    full, the one that lacks least gets the capacity on top. So the load of each reachable state is at most that of the
    round that it is in: a shift counts where it comes as soon as it may begin, and leaves when it must be done.

    Shifts fit with today's traffic. Those that fit with the largest traffic too come first, because growth may come
    early.
    """
    grown = phi * most
    now, later, extra, spare = phi @ present, grown @ present, np.zeros_like(sized), spare.copy()
    waits: list[tuple[int, ...]] = [()] * len(pairs)
    gone: dict[int, list[int]] = defaultdict(list)  # region -> the shifts of earlier rounds that leave it
    left = list(range(len(pairs)))
    for number in count():
        if not left:
            break
        room = sized + extra + tolerance[:, None]
        chosen = _fitting(later, grown, pairs, left, room) or _fitting(now, phi, pairs, left, room)
        if not chosen:
            chosen = [_least_lacking(now, phi, pairs, left, sized + extra)] if number < ROUNDS_MAX else left
            coming = now.copy()
            for i in chosen:
                p, _, to, share = pairs[i]
                coming[:, to] += phi[:, p] * share
                _grant(extra, spare, np.maximum(0.0, coming[:, to] - (sized + extra)[:, to]), to, allowed, kind)
        for i in chosen:
            p, _, to, _ = pairs[i]
            waits[i] = tuple(j for j in gone[to] if (phi[:, p] * phi[:, pairs[j][0]] > 0).any())
        for i in chosen:
            p, away, to, share = pairs[i]
            for load, need in ((now, phi), (later, grown)):
                load[:, to] += need[:, p] * share
                load[:, away] -= need[:, p] * share
            gone[away].append(i)
        taken = set(chosen)
        left = [i for i in left if i not in taken]
    return ShiftOrder(waits=tuple(waits), extra=extra)


def _fitting(load: Floats, phi: Floats, pairs: Sequence[Pair], left: Sequence[int], room: Floats) -> list[int]:
    """Return the shifts that fit together on top of a load, if every service has room for what comes."""
    coming, found = load.copy(), []
    for i in left:
        p, _, to, share = pairs[i]
        after = coming[:, to] + phi[:, p] * share
        if (after <= room[:, to]).all():
            coming[:, to] = after
            found.append(i)
    return found


def _least_lacking(now: Floats, phi: Floats, pairs: Sequence[Pair], left: Sequence[int], sized: Floats) -> int:
    """Return the shift whose services lack least where it goes."""

    def lacking(i: int) -> float:
        p, _, to, share = pairs[i]
        return float(np.maximum(0.0, now[:, to] + phi[:, p] * share - sized[:, to]).sum())

    return min(left, key=lacking)


def _grant(extra: Floats, spare: Floats, lacking: Floats, region: int, allowed: Floats, kind: Indices) -> None:
    """Give services what they lack in a region, as far as their pools have it and people allow it."""
    for s in np.flatnonzero(lacking > 0).tolist():
        free = min(float(spare[kind[s], region]), float(allowed[s, region] - extra[s, region]))
        given = min(float(lacking[s]), max(0.0, free))
        extra[s, region] += given
        spare[kind[s], region] -= given
