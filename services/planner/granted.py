"""The capacity that services are granted, by the table of their reservations."""

from __future__ import annotations

from libs.flux.reservation_sizes import Place, ReservationTable
from libs.interchange.planning_inputs.service_reservations import service_reservations_of
from libs.store.capacity.promised import load_promised_rru
from libs.store.planner.planning_inputs import load_current
from libs.store.platform.database import Transaction

TABLE = "service_reservations"


def granted_capacity(tx: Transaction) -> dict[Place, float]:
    """Return the granted capacity by place, headroom included, where a reservation holds one place alone.

    The share of a service in a reservation of several depends on their use, so it is left out.
    """
    current = load_current(tx, TABLE)
    if current is None:
        return {}
    table, found = ReservationTable(service_reservations_of(current[1])), {}
    for (region, reservation), rru in load_promised_rru(tx).items():
        places = table.places(region, reservation)
        if len(places) == 1 and (row := table.find(places[0])) is not None:
            found[places[0]] = rru / row.rru_per_unit
    return found
