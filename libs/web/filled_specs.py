"""Fill in what a spec takes from elsewhere in the region: RRUs of a class, and shares of another reservation."""

from __future__ import annotations

from dataclasses import replace

from libs.domain.region import Region
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.followed_shares import load_followed, load_followed_shares, why_not_followed_now
from libs.store.capacity.reservations import load_owners
from libs.store.fleet.present_classes import load_catalogue
from libs.store.platform.database import Transaction
from libs.web.names import unknown_name
from libs.web.problems import FieldError, invalid


def filled_in(
    tx: Transaction, region: Region, name: str, spec: ReservationSpec, before: ReservationSpec | None = None
) -> ReservationSpec:
    """Return the spec of the reservation `name` with the RRUs of its class, and with the shares of the reservation that
    it follows.

    before   the present spec of the reservation. It may go on to follow one that is gone: its shares stay

    Raises Problem (422) with the nearest names if the region has no such class or reservation, and if the other one
    cannot be followed.
    """
    return _with_shares(tx, region, name, _with_class(tx, region, spec), before)


def _with_class(tx: Transaction, region: Region, spec: ReservationSpec) -> ReservationSpec:
    if spec.workload_class is None:
        return spec
    classes = load_catalogue(tx, region.region_id).classes
    if spec.workload_class not in classes:
        raise invalid(unknown_name("spec.workload_class", "class of workload", spec.workload_class, classes.keys()))
    return replace(spec, rru=classes[spec.workload_class])


def _with_shares(
    tx: Transaction, region: Region, name: str, spec: ReservationSpec, before: ReservationSpec | None
) -> ReservationSpec:
    other = spec.affinity_follows
    if other is None:
        return spec
    why = why_not_followed_now(tx, region.region_id, name, other)
    if why is not None:
        error = FieldError(field="spec.affinity_follows", location="body", code="cannot_follow", message=why)
        raise invalid(error)
    goes_on = before is not None and before.affinity_follows == other
    if not goes_on and load_followed(tx, region.region_id, other) is None:
        known = load_owners(tx, region.name).keys() - {name}
        raise invalid(unknown_name("spec.affinity_follows", "reservation", other, known))
    shares = load_followed_shares(tx, region.region_id, other, survives_msb_loss=spec.survives_msb_loss)
    return replace(spec, affinity=shares or spec.affinity)
