"""A whole region as arrays again: what import_region would take elsewhere."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Names, RegionImage
from libs.store.bulk import load_names
from libs.store.database import Transaction
from libs.store.regions import load_region
from libs.store.snapshot import load_fleet_snapshot


def load_region_image(tx: Transaction, region_name: str) -> RegionImage:
    """Everything of a region that the interchange format holds. `tx` comes from Database.snapshot(). Raises NotFound.

    Where a server's two bindings are to different deleted reservations, the name is that of the current one: both are
    left at no cost.
    """
    snapshot = load_fleet_snapshot(tx, region_name)
    parameters = {"region": load_region(tx, region_name).region_id}
    server = "FROM servers WHERE region_id = %(region)s ORDER BY server_id"
    reservation = "FROM reservations WHERE region_id = %(region)s AND deleted_at IS NULL ORDER BY reservation_id"
    deleted = """
        SELECT coalesce(was.name, will.name) FROM servers
        LEFT JOIN reservations was ON was.reservation_id = current_reservation_id AND was.deleted_at IS NOT NULL
        LEFT JOIN reservations will ON will.reservation_id = target_reservation_id AND will.deleted_at IS NOT NULL
        WHERE servers.region_id = %(region)s ORDER BY server_id"""
    return RegionImage(
        snapshot=snapshot,
        server_host_profile=load_names(tx, f"SELECT host_profile {server}", parameters),
        server_deleted_binding=_told_apart(load_names(tx, deleted, parameters), snapshot.reservations.name),
        reservation_kind=load_names(tx, f"SELECT kind {reservation}", parameters),
        reservation_unit=load_names(tx, f"SELECT unit {reservation}", parameters),
        reservation_owner=load_names(tx, f"SELECT owner {reservation}", parameters),
        reservation_host_profile=load_names(tx, f"SELECT host_profile {reservation}", parameters),
    )


def _told_apart(deleted: Names, live: Names) -> Names:
    """A deleted reservation whose name is in use again gets another one: else its servers would be the new one's."""
    taken, renamed = set(live), {}
    for name in {name for name in deleted if name in taken}:
        renamed[name] = f"{name}-deleted"
        while renamed[name] in taken:
            renamed[name] += "-deleted"
    return np.array([renamed.get(name, name) for name in deleted], object)
