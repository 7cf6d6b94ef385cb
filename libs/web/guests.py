"""Check in requests that guests and their hosts fit each other. See docs/designs/0061."""

from __future__ import annotations

from libs.domain.guest import guest_fault
from libs.domain.region import Region
from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.store.capacity.reservations import load_owners
from libs.store.capacity.stacks import load_stack
from libs.store.platform.database import Transaction
from libs.web.names import unknown_name
from libs.web.problems import FieldError, Problem, invalid


def require_fitting_guests(
    tx: Transaction, region: Region, name: str, owner: str, spec: ReservationSpec, was: ReservationSpec | None = None
) -> None:
    """Check that the reservation `name` can have this spec: as a guest, or as the host of its present guests.

    was   its spec now; None: it is new
    Raises Problem (422) with the field to change.
    """
    stack = load_stack(tx, region.name, name, spec)
    if spec.guest_of is None:
        for guest in stack.guests:
            others = [other for other in stack.guests if other.name != guest.name]
            dropped = () if was is None else guest.spec.rru.keys() - was.rru.keys()
            fault = guest_fault(guest.name, guest.spec, spec, others, dropped)
            if fault is not None:
                raise _refused(fault.host_field, fault.message_to_host(guest.name))
        return
    host = stack.host
    if spec.guest_of != name and (host is None or host.kind is not ReservationKind.GUARANTEED):
        known = {other for other, its_owner in load_owners(tx, region.name).items() if its_owner == owner} - {name}
        raise invalid(unknown_name("spec.guest_of", "reservation", spec.guest_of, known))
    fault = stack.fault(name, owner, spec)
    if fault is not None:
        raise _refused(fault.field, fault.message)


def _refused(field: str, message: str) -> Problem:
    return invalid(FieldError(field=f"spec.{field}", location="body", code="cannot_be_guest", message=message))
