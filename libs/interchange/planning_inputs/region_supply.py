"""The stored planning inputs about the supply of regions: `deliveries` and `server_units`."""

from __future__ import annotations

from libs.domain.region_supply import Delivery, ServerUnits
from libs.interchange.planning_inputs.formats import stored_rows


def deliveries_of(content: bytes) -> tuple[Delivery, ...]:
    """Return the rows of a stored version of `deliveries`."""
    return tuple(
        Delivery(
            region=row["region"], hardware_type=row["server_type"], servers=int(row["servers"]), due_at=row["due_at"]
        )
        for row in stored_rows(content)
    )


def server_units_of(content: bytes) -> tuple[ServerUnits, ...]:
    """Return the rows of a stored version of `server_units`."""
    return tuple(
        ServerUnits(server_type=row["server_type"], hardware_type=row["hardware_type"], units=row["units"])
        for row in stored_rows(content)
    )
