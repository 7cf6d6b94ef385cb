"""The stored planning input `service_reservations` as rows of the domain."""

from __future__ import annotations

from libs.domain.service_reservation import ServiceReservation
from libs.interchange.planning_inputs.formats import stored_rows


def service_reservations_of(content: bytes) -> tuple[ServiceReservation, ...]:
    """Return the rows of a stored version of the input."""
    return tuple(
        ServiceReservation(**{**row, "headroom": row["headroom"] or 0.0, "region": row["region"] or None})
        for row in stored_rows(content)
    )
