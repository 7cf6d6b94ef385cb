"""Export of a whole region as arrays, in the form that import_region takes."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from libs.domain.arrays import Names
from libs.domain.fleet import FleetSnapshot
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationKind
from libs.domain.rru_catalogue import RegionCatalogue
from libs.store.capacity.rru_catalogue import load_versions
from libs.store.capacity.ungranted import with_promises
from libs.store.fleet.hardware_types import load_cost_units, load_sizes
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import LIVE, load_fleet_snapshot
from libs.store.platform.bulk import load_names
from libs.store.platform.database import Transaction


def load_region_image(tx: Transaction, region_name: str) -> RegionImage:
    """Return the content of a region's files. Time windows and scheduled reservations are left out.

    `tx` comes from Database.snapshot(). Raises NotFound.
    """
    snapshot = load_fleet_snapshot(tx, region_name)
    parameters = {"region": load_region(tx, region_name).region_id}
    server = "FROM servers WHERE region_id = %(region)s AND decommissioned_at IS NULL ORDER BY server_id"
    reservation = f"FROM reservations WHERE {LIVE} ORDER BY reservation_id"
    deleted = """
        SELECT gone.name FROM servers
        LEFT JOIN reservations gone ON gone.reservation_id = {binding}_reservation_id AND gone.deleted_at IS NOT NULL
        WHERE servers.region_id = %(region)s AND decommissioned_at IS NULL ORDER BY server_id"""
    current, target = (load_names(tx, deleted.format(binding=b), parameters) for b in ("current", "target"))
    catalogue = _catalogue(tx, parameters["region"], snapshot)
    kinds = load_names(tx, f"SELECT kind {reservation}", parameters)
    new_name = _told_apart({*current, *target} - {None}, set(snapshot.reservations.name))
    return RegionImage(
        snapshot=_with_promises(tx, snapshot, parameters["region"], kinds),
        server_host_profile=load_names(tx, f"SELECT host_profile {server}", parameters),
        server_deleted_current=_renamed(current, new_name),
        server_deleted_target=_renamed(target, new_name),
        reservation_kind=kinds,
        reservation_unit=load_names(tx, f"SELECT unit {reservation}", parameters),
        reservation_owner=load_names(tx, f"SELECT owner {reservation}", parameters),
        reservation_host_profile=load_names(tx, f"SELECT host_profile {reservation}", parameters),
        reservation_class=_classes(load_names(tx, f"SELECT workload_class {reservation}", parameters), catalogue),
        reservation_follows=_follows(
            load_names(tx, f"SELECT affinity_follows {reservation}", parameters), snapshot.reservations.name, kinds
        ),
        hardware_type_attributes=load_sizes(tx, snapshot.hardware_types),
        catalogue=catalogue,
    )


def _with_promises(tx: Transaction, snapshot: FleetSnapshot, region_id: int, kinds: Names) -> FleetSnapshot:
    """Return the snapshot with what was granted, if a request waits. Without it, the files promise all."""
    found = with_promises(tx, snapshot, region_id)
    assert found.promised_rru is not None
    waits = (found.promised_rru < found.reservations.capacity_rru) & (kinds == ReservationKind.GUARANTEED)
    guest_waits = any(one.promised_rru != one.spec.capacity_rru for one in found.guests)
    return found if waits.any() or guest_waits else snapshot


def _classes(names: Names, catalogue: RegionCatalogue) -> Names:
    """Return the class of each reservation, (R,). A class that was retired during a grant counts as none."""
    present = catalogue.present().classes
    return np.array([name if name in present else None for name in names], object)


def _follows(others: Names, names: Names, kinds: Names) -> Names:
    """Return the reservation that each reservation follows, (R,). One that is gone, or that owners may not follow,
    counts as none: a file has the last shares all the same.
    """
    live = {*names[kinds == ReservationKind.GUARANTEED]}
    return np.array([other if other in live else None for other in others], object)


def _catalogue(tx: Transaction, region_id: int, snapshot: FleetSnapshot) -> RegionCatalogue:
    """Return all versions of the region's classes, and the cost units of every type that these or the region name."""
    versions = load_versions(tx, region_id)
    types = {*map(str, snapshot.hardware_types), *(name for one in versions for name in one.rru)}
    return RegionCatalogue(cost_units=load_cost_units(tx, types), versions=versions)


def _told_apart(deleted: Set[str], live: Set[str]) -> Mapping[str, str]:
    """Return a new name for each deleted reservation that shares its name with a live one.

    With equal names, an import would bind the servers of the deleted reservation to the live one.
    """
    taken, renamed = deleted | live, {}
    for name in sorted(deleted & live):
        tries = (f"{name[:180]}-deleted{suffix}" for suffix in ("", *(f"-{i}" for i in range(2, len(taken) + 3))))
        renamed[name] = next(new for new in tries if new not in taken)
        taken |= {renamed[name]}
    return renamed


def _renamed(names: Names, new_name: Mapping[str, str]) -> Names:
    return np.array([new_name.get(name, name) for name in names], object)
