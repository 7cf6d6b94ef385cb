"""The order of grants and requests where both exchange servers: who gives first. See docs/designs/0064."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.reservation import ROUNDING


def yields(from_waits: Bools | bool, to_waits: Bools | bool) -> Bools:
    """Return which servers go from a request that waits to a granted reservation. The request keeps only what was
    granted of it.

    from_waits, to_waits   (N,) whether the reservation that gives each server, and the one that gets it, is a request
                           that was granted less than it asks for
    """
    return np.asarray(np.logical_and(from_waits, np.logical_not(to_waits)))


def spares_buffer(from_waits: Bools | bool, to_waits: Bools | bool) -> Bools:
    """Return which servers go from a granted reservation to a request that waits. They leave at *survive* alone, so
    that the embedded buffer of the granted one stays. Arguments as in `yields`; a request that `gives_nothing` does not
    count as one that gets.
    """
    return yields(to_waits, from_waits)


def gives_nothing(held_rru: Floats, least_rru: Floats, granted_rru: Floats) -> Bools:
    """Return which requests that wait are to give servers to granted reservations, and can give none: then they would
    hold less than was granted of them. Such a request gets a server before it gives one, as in an exchange of promises.

    held_rru    (R,) RRU of the servers that each one holds
    least_rru   (R,) the least RRU of a server that it is to give to a granted reservation; inf: it is to give none
    """
    return np.asarray(np.isfinite(least_rru) & (held_rru - least_rru < granted_rru * (1 - ROUNDING)))
