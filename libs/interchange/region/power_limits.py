"""Read and write power_limits.parquet: the most that the servers of a domain may draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from libs.domain.domain_kind import MSB_KIND
from libs.domain.fleet import Topology
from libs.domain.power import HEADROOM_MAX, LIMITS_MAX, WATTS_MAX, PowerLimit
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source, Table, has_file

FILE = "power_limits.parquet"
_COLUMNS = {"kind", "domain", "limit_w", "headroom"}


def load_limits(source: Source, problems: Problems, topology: Topology) -> tuple[PowerLimit, ...]:
    """Return the limits on power of a region; () if the source has no such file.

    A row has a kind (MSB, or one that servers.parquet has a column for), a domain of the region, and its limit in W.
    The column `headroom` has the share that plans keep free; without it, 0.
    """
    if not has_file(source, FILE):
        return ()
    table = Table(source, FILE, problems, fields=_COLUMNS)
    if len(table) > LIMITS_MAX:
        table.refuse(f"has {len(table)} limits; at most {LIMITS_MAX} are allowed", "domain")
    kinds, domains, limit_w = table.strings("kind").names, table.strings("domain").names, table.numbers("limit_w")
    headroom = table.numbers("headroom") if table.has("headroom") else np.zeros(len(table))
    places = {MSB_KIND: set(topology.msbs)} | {kind.name: set(kind.domains) for kind in topology.kinds}
    pairs = list(zip(kinds, domains, strict=True))
    no_kind = np.array([kind not in places for kind in kinds], np.bool_)
    table.bad_rows(no_kind, "kind", f"{{}} is not a kind with limits: known are {', '.join(places)}", kinds)
    unknown = np.array([domain not in places.get(kind, (domain,)) for kind, domain in pairs], np.bool_)
    table.bad_rows(unknown, "domain", "{} is no domain of this kind in servers.parquet", domains)
    first = {pair: row for row, pair in reversed(list(enumerate(pairs)))}
    again = np.array([first[pair] != row for row, pair in enumerate(pairs)], np.bool_)
    table.bad_rows(again, "domain", "has a limit in an earlier row")
    above = (limit_w <= 0) | (limit_w > WATTS_MAX)
    table.bad_rows(above, "limit_w", f"is not above 0 and at most {WATTS_MAX:g} W")
    table.bad_rows((headroom < 0) | (headroom > HEADROOM_MAX), "headroom", f"is not from 0 to {HEADROOM_MAX:g}")
    return tuple(
        PowerLimit(kind=str(kind), domain=str(domain), limit_w=float(watts), headroom=float(share))
        for kind, domain, watts, share in zip(kinds, domains, limit_w, headroom, strict=True)
    )


def dump_limits(limits: Sequence[PowerLimit]) -> dict[str, pa.Array]:
    """Return the columns of the file."""
    return {
        "kind": pa.array([one.kind for one in limits], pa.string()),
        "domain": pa.array([one.domain for one in limits], pa.string()),
        "limit_w": pa.array([one.limit_w for one in limits], pa.float64()),
        "headroom": pa.array([one.headroom for one in limits], pa.float64()),
    }
