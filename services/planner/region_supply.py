"""Take the supply of a world's regions from the platform, or from the portals of regions elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from libs.domain.region_supply import capacity_by_type, with_deliveries
from libs.interchange.planning_inputs.formats import parquet_of, stored_rows
from libs.interchange.planning_inputs.region_supply import deliveries_of, server_units_of
from libs.interchange.planning_inputs.rows import Row, in_order
from libs.interchange.planning_inputs.tables import INPUT_TABLES
from libs.store.fleet.regions import load_region_names
from libs.store.platform.database import Transaction
from libs.store.regions.region_supply import load_region_supply
from services.planner.remote_regions import RegionReading

SUPPLY, UNITS, DELIVERIES = "supply", "server_units", "deliveries"


def with_region_supply(
    tx: Transaction,
    contents: Mapping[str, bytes],
    steps: Sequence[int],
    starts: Sequence[datetime],
    *,
    step: timedelta,
    now: datetime,
    elsewhere: Mapping[str, RegionReading],
) -> Mapping[str, bytes]:
    """Return the inputs with the supply that regions have at each step.

    elsewhere   the regions of other installations, as their portals say

    A row of `supply` is replaced if its region is known, and `server_units` names its hardware type. A delivery counts
    from the step on that it is due before. A retirement counts from the step on in which it is due.
    """
    if UNITS not in contents:
        return contents
    units = server_units_of(contents[UNITS])
    deliveries = deliveries_of(contents[DELIVERIES]) if DELIVERIES in contents else ()
    rows = stored_rows(contents[SUPPLY])
    types = {row.hardware_type for row in units}
    ours = load_region_names(tx)
    known = sorted({row["region"] for row in rows} & (ours | elsewhere.keys()))
    found: list[Row] = [row for row in rows if row["region"] not in known or row["hardware_type"] not in types]
    for t, (number, start) in enumerate(zip(steps, starts, strict=True)):
        for region in known:
            if region in ours:
                supply = load_region_supply(tx, region, at=start, retired_until=start + step)
            else:
                supply = elsewhere[region].supply[t]
            supply = with_deliveries(supply, deliveries, region=region, now=now, at=start)
            found += [
                {"step": number, "region": region, "hardware_type": name, "capacity": capacity}
                for name, capacity in capacity_by_type(supply, units).items()
            ]
    table = INPUT_TABLES[SUPPLY]
    return {**contents, SUPPLY: parquet_of(table, in_order(table, found))}
