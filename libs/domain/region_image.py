"""A whole region for import and export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from libs.domain.arrays import Names
from libs.domain.fleet import FleetSnapshot
from libs.domain.rru_catalogue import RegionCatalogue


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionImage:
    """A whole region for import and export: the snapshot, and the columns that no solve reads.

    server_host_profile       (S,) str
    server_deleted_current    (S,) str or None   name of the reservation where the current binding is DELETED
    server_deleted_target     (S,) str or None   name of the reservation where the target is DELETED
    reservation_kind          (R,) str           values of ReservationKind
    reservation_unit          (R,) str           values of CapacityUnit
    reservation_owner         (R,) str
    reservation_host_profile  (R,) str
    reservation_class         (R,) str or None   class of workload that the RRUs follow
    reservation_follows       (R,) str or None   name of the reservation whose holdings the affinity follows
    hardware_type_attributes  hardware type -> figures by name, such as vcpu; types without figures are absent
    catalogue                 the cost units of hardware types, and the classes of workload; None: nothing is said about
                              them, and the snapshot has no cost units
    """

    snapshot: FleetSnapshot
    server_host_profile: Names
    server_deleted_current: Names
    server_deleted_target: Names
    reservation_kind: Names
    reservation_unit: Names
    reservation_owner: Names
    reservation_host_profile: Names
    reservation_class: Names
    reservation_follows: Names
    hardware_type_attributes: Mapping[str, Mapping[str, float]]
    catalogue: RegionCatalogue | None = None
