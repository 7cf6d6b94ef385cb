"""The order of grants and requests where both exchange servers: who gives first. See docs/designs/0064."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools


def yields(from_waits: Bools | bool, to_waits: Bools | bool) -> Bools:
    """Return which servers go from a request that waits to a granted reservation. The request keeps only what was
    granted of it.

    from_waits, to_waits   (N,) whether the reservation that gives each server, and the one that gets it, is a request
                           that was granted less than it asks for
    """
    return np.asarray(np.logical_and(from_waits, np.logical_not(to_waits)))


def spares_buffer(from_waits: Bools | bool, to_waits: Bools | bool) -> Bools:
    """Return which servers go from a granted reservation to a request that waits. They leave at *survive* alone, so
    that the embedded buffer of the granted one stays. Arguments as in `yields`.
    """
    return yields(to_waits, from_waits)
