"""Load the reservations that share servers (docs/designs/0061)."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.reservation import ReservationSpec
from libs.domain.stack import Stack
from libs.store.capacity.reservations import find_reservations
from libs.store.fleet.guests import load_guests
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction


def load_stack(tx: Transaction, region: str, name: str, spec: ReservationSpec) -> Stack:
    """Return the reservations that share servers with the reservation `name`, if it has this spec. Raises NotFound if
    the region does not exist.
    """
    return load_stacks(tx, region, [(name, spec)])[0]


def load_stacks(tx: Transaction, region: str, asked: Sequence[tuple[str, ReservationSpec]]) -> list[Stack]:
    """Return what `load_stack` returns for each name and spec, by a fixed number of queries."""
    guests = load_guests(tx, load_region(tx, region).region_id)
    of = {spec.guest_of for _, spec in asked if spec.guest_of is not None}
    hosts = {host.name: host for host in find_reservations(tx, region, of)} if of else {}
    if not guests and not hosts:
        return [Stack() for _ in asked]
    found = []
    for name, spec in asked:
        mine = [guest for guest in guests if guest.host == (spec.guest_of or name)]
        others = tuple(guest for guest in mine if guest.name != name)
        was = next((guest for guest in mine if guest.name == name), None)
        found.append(Stack(host=hosts.get(spec.guest_of or ""), guests=others, was=was))
    return found
