"""Compare a region without an approved request and with it: free servers, and what present reservations have. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.ras.evaluate import coverage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeOfType:
    """The free servers of one hardware type that plans may bind, before and after.

    buffers_lack   servers that the shared buffers of this type still need. They come from the free ones
    """

    hardware_type: str
    before: int
    after: int
    buffers_lack: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorter:
    """A present reservation whose targets lack more capacity after the approval."""

    reservation: str
    before_rru: float
    after_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectOnPresent:
    """The effect of the admission of one request on the reservations that exist.

    from_free         free servers that it binds
    from_others       servers that it takes from the targets of other reservations
    compared          reservations that were compared
    shorter           those that would lack more
    free              the hardware types that the request may use
    """

    from_free: int
    from_others: int
    compared: int
    shorter: tuple[Shorter, ...]
    free: tuple[FreeOfType, ...]


def effect_on_present(
    before: FleetSnapshot, after: FleetSnapshot, *, name: str, types: Collection[str], buffers: Collection[int]
) -> EffectOnPresent:
    """Return the effect of the request for the reservation `name`.

    after     `before` with the reservation of the request, which comes last if it is new, and its targets
    types     hardware types that the request may use
    buffers   ids of the shared buffers
    """
    was, then = (np.maximum(one.servers.target, FREE) for one in (before, after))
    changed, R = was != then, len(before.reservations)
    names, own = before.reservations.name, before.reservations.name == name
    short_before = coverage_of(before, was).shortfall
    short_after = coverage_of(after, then).shortfall[:R]
    more = ~own & (short_after > short_before + ROUNDING * np.maximum(before.reservations.capacity_rru, 1.0))
    usable = before.servers.lasting
    return EffectOnPresent(
        from_free=int((changed & (was == FREE)).sum()),
        from_others=int((changed & (was != FREE) & ~np.append(own, False)[was]).sum()),
        compared=int((~own).sum()),
        shorter=tuple(
            Shorter(reservation=str(names[r]), before_rru=float(short_before[r]), after_rru=float(short_after[r]))
            for r in np.flatnonzero(more)
        ),
        free=tuple(
            FreeOfType(
                hardware_type=str(kind),
                before=int((usable & (was == FREE) & (before.servers.hardware_type == t)).sum()),
                after=int((usable & (then == FREE) & (before.servers.hardware_type == t)).sum()),
                buffers_lack=_lacking(before, t, buffers, short_before),
            )
            for t, kind in enumerate(before.hardware_types)
            if kind in types
        ),
    )


def _lacking(snapshot: FleetSnapshot, kind: int, buffers: Collection[int], short: Floats) -> int:
    """Return the servers of a type that shared buffers lack. A server is worth 1 RRU to a buffer of its type."""
    q = snapshot.reservations
    of_type = np.isin(q.id, list(buffers)) & (q.rru[:, kind] > 0)
    return int(np.ceil(short[of_type] - ROUNDING).sum())
