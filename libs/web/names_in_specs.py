"""Check the names in the spec of a reservation, for requests and for what-ifs."""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.region import Region
from libs.domain.reservation import CapacityUnit, ReservationSpec
from libs.store.fleet.known_names import known_datacenters
from libs.store.platform.database import Transaction
from libs.web.domain_kinds import wrong_kinds
from libs.web.domain_limits import wrong_limits
from libs.web.names import unknown_name
from libs.web.problems import FieldError
from libs.web.resources import wrong_resources


def wrong_names(tx: Transaction, region: Region, spec: ReservationSpec, types: Collection[str]) -> list[FieldError]:
    """Return an error for each name in the spec that the region does not have.

    types   the hardware types that the spec may name
    """
    datacenters = known_datacenters(tx, region.region_id) if spec.affinity or spec.datacenters else ()
    field = "spec.rru.{}" if spec.unit is CapacityUnit.RRU else "spec.hardware_types"
    named = [(field.format(name), "hardware type", name, types) for name in spec.rru]
    named += [(f"spec.affinity.{name}", "datacenter", name, datacenters) for name in spec.affinity]
    named += [("spec.datacenters", "datacenter", name, datacenters) for name in spec.datacenters]
    return [
        *(unknown_name(where, noun, name, known) for where, noun, name, known in named if name not in known),
        *wrong_kinds(tx, region, spec.survives_loss_of),
        *wrong_limits(tx, region, spec.domain_limits),
        *wrong_resources(tx, spec.resources),
    ]
