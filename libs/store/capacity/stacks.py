"""Load the reservations that share servers with one of them (docs/designs/0061)."""

from __future__ import annotations

from libs.domain.reservation import ReservationSpec
from libs.domain.stack import Stack
from libs.store.capacity.reservations import find_reservation
from libs.store.fleet.guests import load_guests
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction


def load_stack(tx: Transaction, region: str, name: str, spec: ReservationSpec) -> Stack:
    """Return the reservations that share servers with the reservation `name`, if it has this spec. Raises NotFound if
    the region does not exist.
    """
    guests = load_guests(tx, load_region(tx, region).region_id, spec.guest_of or name)
    return Stack(
        host=None if spec.guest_of is None else find_reservation(tx, region, spec.guest_of),
        guests=tuple(guest for guest in guests if guest.name != name),
        was=next((guest for guest in guests if guest.name == name), None),
    )
