"""Check in requests that guests and their hosts fit each other. See docs/designs/0061."""

from __future__ import annotations

from libs.domain.guest import GuestFault, guest_fault
from libs.domain.region import Region
from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.store.capacity.reservations import find_reservation, live_names
from libs.store.fleet.guests import load_guests
from libs.store.platform.database import Transaction
from libs.web.names import unknown_name
from libs.web.problems import FieldError, Problem, invalid

_FIELD = "spec.guest_of"


def require_fitting_guests(tx: Transaction, region: Region, name: str, owner: str, spec: ReservationSpec) -> None:
    """Check that the reservation `name` can have this spec: as a guest, or as the host of its present guests.

    Raises Problem (422) with the field to change.
    """
    if spec.guest_of is None:
        _require_host(tx, region, name, spec)
        return
    host = None if spec.guest_of == name else find_reservation(tx, region.name, spec.guest_of)
    if spec.guest_of != name and (host is None or host.kind is not ReservationKind.GUARANTEED):
        known = live_names(tx, region.name) - {name}
        raise invalid(unknown_name(_FIELD, "reservation", spec.guest_of, known))
    if host is not None and host.owner != owner:
        message = f"{host.name} is of {host.owner}: a guest and its host have one owner, so name one of {owner}"
        raise _refused("guest_of", message)
    others = [guest for guest in load_guests(tx, region.region_id, spec.guest_of) if guest.name != name]
    fault = guest_fault(name, spec, spec if host is None else host.spec, others)
    if fault is None and load_guests(tx, region.region_id, name):
        fault = GuestFault("guest_of", "guest_of", f"{name} has guests itself", "a guest has none")
    if fault is not None:
        raise _refused(fault.field, fault.message)


def _require_host(tx: Transaction, region: Region, name: str, spec: ReservationSpec) -> None:
    guests = load_guests(tx, region.region_id, name)
    for guest in guests:
        fault = guest_fault(guest.name, guest.spec, spec, [other for other in guests if other.name != guest.name])
        if fault is not None:
            raise _refused(fault.host_field, fault.message_to_host(guest.name))


def _refused(field: str, message: str) -> Problem:
    return invalid(FieldError(field=f"spec.{field}", location="body", code="cannot_be_guest", message=message))
