"""Check a capacity request before it is stored: its names exist, and the reservation has not changed since it was
read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind
from libs.domain.region import Region
from libs.domain.reservation import Reservation, ReservationKind, ReservationSpec
from libs.domain.words import as_sentence
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.capacity_requests import count_undecided
from libs.store.capacity.reservations import find_reservation, live_names, load_reservation
from libs.store.capacity.shared_buffers import NAME_PREFIX
from libs.store.fleet.known_names import known_hardware_types, known_regions
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import HasGuests, NotFound
from libs.web.filled_specs import filled_in
from libs.web.guests import require_fitting_guests
from libs.web.names import unknown_name
from libs.web.names_in_specs import wrong_names
from libs.web.problems import FieldError, Problem, invalid
from services.portal.due_windows import require_window

UNDECIDED_MAX = 100
"""Largest number of undecided requests of one owner in one region."""
RETRY_S = 10
"""Seconds after which a refused client may try again: by then, assessments should have decided earlier requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A request that may be stored.

    reservation   the reservation that a resize or delete changes; None for a create
    """

    kind: CapacityRequestKind
    region: Region
    name: str
    owner: str
    spec: ReservationSpec | None
    reservation: Reservation | None


def submit_create(
    tx: Transaction,
    *,
    region: str,
    name: str,
    owner: str,
    spec: ReservationSpec,
    now: datetime,
    name_field: str = "reservation",
) -> Submission:
    """Check a request that creates a reservation. `name_field` is the field of the body that holds the reservation's
    name.

    Raises Problem: 422 with the field of an unknown name, 409 if the name is taken.
    """
    found = require_region(tx, region)
    if name.startswith(NAME_PREFIX):
        message = f"names beginning with {NAME_PREFIX} are kept for shared buffers: choose another"
        raise invalid(FieldError(field=name_field, location="body", code="reserved_name", message=message))
    if find_reservation(tx, region, name) is not None:
        message = f"there is a reservation {name} in {region} already: choose another name, or resize that one"
        errors = [FieldError(field=name_field, location="body", code="duplicate_name", message=message)]
        raise Problem(409, "duplicate_name", as_sentence(message), errors=errors)
    spec = filled_in(tx, found, name, spec)
    _require_known(tx, found, spec)
    require_fitting_guests(tx, found, name, owner, spec)
    require_window(spec, None, now=now)
    kind = CapacityRequestKind.CREATE
    return Submission(kind=kind, region=found, name=name, owner=owner, spec=spec, reservation=None)


def submit_resize(
    tx: Transaction, reservation: Reservation, spec: ReservationSpec, *, generation: int, now: datetime
) -> Submission:
    """Check a request that resizes a reservation. Raises StaleGeneration, and Problem: 422 for unknown names, 409 if
    the reservation cannot change.
    """
    _require_changeable(reservation, generation)
    region = load_region(tx, reservation.region)
    spec = filled_in(tx, region, reservation.name, spec, reservation.spec)
    _require_known(tx, region, spec)
    _require_same_host(reservation, spec)
    require_fitting_guests(tx, region, reservation.name, reservation.owner, spec, reservation.spec)
    require_window(spec, reservation, now=now)
    return Submission(
        kind=CapacityRequestKind.RESIZE,
        region=region,
        name=reservation.name,
        owner=reservation.owner,
        spec=spec,
        reservation=reservation,
    )


def check_amendment(
    tx: Transaction, request: CapacityRequest, spec: ReservationSpec, *, now: datetime
) -> ReservationSpec:
    """Check the new spec of an undecided request, and return it filled in.

    Raises like submit_create and submit_resize.
    """
    if request.reservation_id is not None:
        reservation = load_reservation(tx, request.reservation_id)
        generation = request.reservation_generation or 0
        submission = submit_resize(tx, reservation, spec, generation=generation, now=now)
        assert submission.spec is not None
        return submission.spec
    region = load_region(tx, request.region)
    spec = filled_in(tx, region, request.reservation_name, spec)
    _require_known(tx, region, spec)
    require_fitting_guests(tx, region, request.reservation_name, request.owner, spec)
    require_window(spec, None, now=now)
    return spec


def submit_delete(tx: Transaction, reservation: Reservation, *, generation: int) -> Submission:
    """Check a request that deletes a reservation. Raises HasGuests, StaleGeneration, and Problem (409) if the
    reservation is deleted or not an owner's.
    """
    if reservation.guests:  # before the generation: a guest that came meanwhile raised it
        raise HasGuests(reservation.name, list(reservation.guests))
    _require_changeable(reservation, generation)
    return Submission(
        kind=CapacityRequestKind.DELETE,
        region=load_region(tx, reservation.region),
        name=reservation.name,
        owner=reservation.owner,
        spec=None,
        reservation=reservation,
    )


def require_region(tx: Transaction, name: str, *, location: str = "body") -> Region:
    """Return the region with this name. Raises Problem (422) with the nearest names."""
    try:
        return load_region(tx, name)
    except NotFound:
        raise invalid(unknown_name("region", "region", name, known_regions(tx), location=location)) from None


def require_few_undecided(tx: Transaction, submission: Submission) -> None:
    """Raise Problem (429) if the owner has the maximum of undecided requests in the region.

    Each undecided request is a job that reads a whole region. A delete is decided at once, so this check never refuses
    it.
    """
    if submission.kind is CapacityRequestKind.DELETE:
        return
    owner, region = submission.owner, submission.region
    if count_undecided(tx, region.region_id, owner) < UNDECIDED_MAX:
        return
    detail = (
        f"{owner} has {UNDECIDED_MAX} undecided requests in {region.name}: wait for them, or withdraw those "
        "that are not needed. Nothing was done."
    )
    raise Problem(429, "too_many_undecided", detail, headers={"Retry-After": str(RETRY_S)})


def require_live(tx: Transaction, region: str, name: str) -> Reservation:
    """Return the live reservation with this name. Raises Problem (422) with the nearest names."""
    require_region(tx, region)
    reservation = find_reservation(tx, region, name)
    if reservation is None:
        raise invalid(unknown_name("reservation", "reservation", name, live_names(tx, region)))
    return reservation


def _require_known(tx: Transaction, region: Region, spec: ReservationSpec) -> None:
    errors = wrong_names(tx, region, spec, known_hardware_types(tx))
    if errors:
        raise invalid(*errors)


def _require_same_host(reservation: Reservation, spec: ReservationSpec) -> None:
    """Check that a resize makes no guest of a reservation, and moves none to another host. Raises Problem (422)."""
    if spec.guest_of == reservation.spec.guest_of:
        return
    message = "cannot change: delete the reservation, and ask for another one"
    raise invalid(FieldError(field="spec.guest_of", location="body", code="cannot_be_guest", message=message))


def _require_changeable(reservation: Reservation, generation: int) -> None:
    if reservation.deleted_at is not None:
        raise Problem(409, "wrong_phase", f"{reservation.name} was deleted: there is nothing left to change.")
    if reservation.kind is not ReservationKind.GUARANTEED:
        detail = f"{reservation.name} is a {reservation.kind.value} reservation: the region's policy sizes it."
        raise Problem(409, "managed_by_policy", detail)
    if reservation.generation != generation:
        raise StaleGeneration(
            "reservation", reservation.reservation_id, expected=generation, found=reservation.generation
        )
