"""Fill in the RRUs of the class that a spec names, from the RRU catalogue of the region."""

from __future__ import annotations

from dataclasses import replace

from libs.domain.reservation import ReservationSpec
from libs.store.fleet.present_classes import load_catalogue
from libs.store.platform.database import Transaction
from libs.web.names import unknown_name
from libs.web.problems import invalid


def with_class(tx: Transaction, region_id: int, spec: ReservationSpec) -> ReservationSpec:
    """Return the spec with the RRUs of its class; a spec without a class as it is. Raises Problem (422) with the
    nearest names if the region has no such class.
    """
    if spec.workload_class is None:
        return spec
    classes = load_catalogue(tx, region_id).classes
    if spec.workload_class not in classes:
        raise invalid(unknown_name("spec.workload_class", "class of workload", spec.workload_class, classes.keys()))
    return replace(spec, rru=classes[spec.workload_class])
