"""Take back replacements of servers whose domain turned out to be lost: the embedded buffer covers it (RAS, 3.3.1)."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.replacement import FailuresSnapshot
from libs.ras.domain_losses import OfDomains
from libs.ras.hard_limits import may_join


def return_spares(failures: FailuresSnapshot, target: Indices, gone: OfDomains) -> int:
    """Swap back, in `target` (S,), the lost and the spare servers of earlier plans. Return the number of swaps.

    Only where the lost server was down before its plan, is down still, and was lost with its domain: `gone`. The
    reservation must still hold its capacity without the spare server, with nothing but the lost domain missing. Its
    hard limits, which may be newer than the earlier plan, must allow the lost server once it is up. Of the spare
    servers, those that have not joined go first, then those without containers.
    """
    fleet = failures.fleet
    servers, q, worth = fleet.servers, fleet.reservations, fleet.shared_rru
    buffer = failures.buffer[servers.hardware_type]
    swapped = failures.swap > 0
    with_place = gone.msb | gone.of_survived(np.where(target == buffer, failures.swap_from, target))
    lost = swapped & ~servers.available & (target == buffer) & with_place & (failures.down_s >= failures.swap_s)
    drawn = swapped & servers.available & ~with_place & (failures.swap_from == buffer) & (target != buffer)
    returned = 0
    for row in np.flatnonzero(lost & (failures.swap_from >= 0)).tolist():
        r, kind = int(failures.swap_from[row]), int(servers.hardware_type[row])
        like = drawn & (failures.swap == failures.swap[row]) & (target == r) & (servers.hardware_type == kind)
        spares = np.flatnonzero(like)
        held = np.flatnonzero(servers.available & (target == r))
        held_rru = worth[r, servers.hardware_type[held]].sum(0)
        needs_all = (held_rru - worth[r, kind] < q.enough_rru[r]).any()
        if not len(spares) or needs_all or not _may_return(failures, target, row):
            continue
        spare = spares[np.lexsort((spares, servers.in_use[spares], servers.current[spares] == r))[0]]
        target[spare], target[row] = buffer[row], r
        drawn[spare] = False
        returned += 1
    return returned


def _may_return(failures: FailuresSnapshot, target: Indices, row: int) -> bool:
    """Return whether the lost server `row` may be bound again to the reservation that it left, by its hard limits.

    Other servers that are down in its MSB count, for they come back too.
    """
    r, kind = int(failures.swap_from[row]), int(failures.fleet.servers.hardware_type[row])
    rru = float(failures.fleet.reservations.rru[r, kind])
    return bool(may_join(failures.fleet, target, r, np.array([row]), rru)[0])
