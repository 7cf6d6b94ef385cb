"""Read and write the columns of uplinks of racks (docs/designs/0063-rack-uplinks.md)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from libs.domain.arrays import Floats, Indices
from libs.domain.reservation import GBIT_PER_RRU_MAX
from libs.domain.uplinks import UPLINK_GBIT_MAX
from libs.interchange.files.tables import Table
from libs.interchange.region.server_columns import of_most_rows

UPLINK = "uplink_gbit"
"""The column of servers with the Gbit/s that all servers of its rack may send together."""


def read_gbit(table: Table) -> Floats:
    """Return the Gbit/s that one RRU of each reservation sends, (R,)."""
    if not table.has("gbit_per_rru"):
        return np.zeros(len(table))
    return table.numbers("gbit_per_rru", most=GBIT_PER_RRU_MAX)


def read_uplinks(table: Table, rack: Indices, racks: int) -> Floats | None:
    """Return the limit of each rack, (K,); inf: null in its rows. None: the file lacks the column.

    rack  (S,) int  the rack of each row
    """
    if not table.has(UPLINK):
        return None
    given = table.numbers(UPLINK, nullable=True)
    table.bad_rows((given <= 0) | (given > UPLINK_GBIT_MAX), UPLINK, f"is not above 0 and at most {UPLINK_GBIT_MAX:g}")
    known, each = np.unique(np.where(np.isnan(given), np.inf, given), return_inverse=True)
    limits = known[of_most_rows(table, UPLINK, rack, each.astype(np.int32), racks, "this rack has another limit")]
    return limits if np.isfinite(limits).any() else None


def uplinks_column(uplinks: Floats | None, rack: Indices) -> pa.Array | None:
    """Return the column of servers, whose racks are `rack` (S,); None: no rack has a limit."""
    if uplinks is None or not np.isfinite(uplinks).any():
        return None
    each = uplinks[rack]
    return pa.array(each, mask=np.isinf(each))
