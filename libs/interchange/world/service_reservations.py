"""Read which reservation holds the capacity of each service: the table `service_reservations` of a world."""

from __future__ import annotations

import numpy as np

from libs.domain.service_reservation import ServiceReservation
from libs.domain.world import Vocabulary
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source
from libs.interchange.files.world_table import WorldTable
from libs.interchange.world.planning_inputs import placements_of

_EVERYWHERE = ""


def load_service_reservations(source: Source, words: Vocabulary) -> tuple[ServiceReservation, ...]:
    """Return the rows of the table; () if the world has none. Raises InterchangeError."""
    problems = Problems()
    table = WorldTable(
        source,
        "service_reservations",
        problems,
        fields={
            "service": "name",
            "hardware_type": "name",
            "region": "name",
            "reservation": "name",
            "rru_per_unit": "number",
            "headroom": "number",
        },
        optional=True,
    )
    placement = placements_of(table, words)
    region = table.optional_strings("region", _EVERYWHERE)
    known = [_EVERYWHERE, *words.regions.tolist()]
    unknown = ~np.isin(region.astype(str), known) if len(region) else np.zeros(0, bool)
    table.bad_rows(unknown, "region", "{} is not a region of this world", region)
    pairs = placement.astype(np.int64) * len(region) + np.unique(region.astype(str), return_inverse=True)[1]
    table.unique("region", pairs, "this service, hardware type and region")
    reservation, rru = table.strings("reservation").names, table.numbers("rru_per_unit")
    headroom = table.optional_numbers("headroom", 0.0)
    table.bad_rows(rru <= 0, "rru_per_unit", "is not above 0")
    table.bad_rows(headroom < 0, "headroom", "is less than 0")
    problems.raise_any()
    rows = zip(placement.tolist(), region, reservation, rru.tolist(), headroom.tolist(), strict=True)
    return tuple(
        ServiceReservation(
            service=str(words.services[words.placement_service[k]]),
            hardware_type=str(words.hardware_types[words.placement_type[k]]),
            region=str(where) or None,
            reservation=str(name),
            rru_per_unit=per_unit,
            headroom=extra,
        )
        for k, where, name, per_unit, extra in rows
    )
