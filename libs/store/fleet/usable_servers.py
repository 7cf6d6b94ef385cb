"""The free servers that could be brought to a reservation at this moment."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Ints
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

# The mover leaves a server with an open dead letter alone until an operator acts, and waits for planned maintenance.
_USABLE = """
    SELECT server_id FROM servers JOIN regions USING (region_id)
    WHERE regions.name = %(region)s AND current_reservation_id IS NULL AND target_reservation_id IS NULL
      AND in_doubt_reservation_id IS NULL AND unavailability = 'none' AND decommissioned_at IS NULL
      AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND dead_letter = 'open')
    ORDER BY server_id"""


def load_usable_servers(tx: Transaction, region_name: str) -> Ints:
    """Return the (N,) ids of the servers that are up, in a known state, and have neither a current nor a target
    reservation.
    """
    return copy_out(tx, _USABLE, {"region": region_name}, {"id": ">i8"})["id"].astype(np.int64)
