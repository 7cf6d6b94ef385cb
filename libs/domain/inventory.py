"""A list of servers from any source: their places and types, without their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices, Names
from libs.domain.fleet import Topology


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inventory:
    """N servers with unique names.

    server           (N,) str
    rack             (N,) int     index into topology.racks
    hardware_type    (N,) int     index into hardware_types
    domain           (N, J) int   domain of each kind of topology.kinds, or UNPLACED
    unavailability   (N,) str     values of Unavailability
    figures          name -> (N,) float, such as vcpu and full_w; nan: not stated
    """

    topology: Topology
    hardware_types: Names
    server: Names
    rack: Indices
    hardware_type: Indices
    domain: Indices
    unavailability: Names
    figures: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.server)

    @property
    def msb(self) -> Indices:
        """Return the (N,) MSB of each server."""
        return self.topology.rack_msb[self.rack]

    def attributes(self) -> dict[str, dict[str, float]]:
        """Return hardware type -> figures by name. A figure is present only if all servers of the type state the same
        value.
        """
        return agreed_attributes(self.hardware_types, self.hardware_type, self.figures)


def agreed_attributes(
    hardware_types: Names, hardware_type: Indices, sizes: Mapping[str, Floats]
) -> dict[str, dict[str, float]]:
    """Return hardware type -> the sizes that all of its servers agree on.

    hardware_types   (T,) str
    hardware_type    (N,) int     type of each server
    sizes            name -> (N,) float, nan: not stated

    A size is absent if two servers of the type state different values, or if a server of the type states no value.
    """
    found: dict[str, dict[str, float]] = {}
    for name, values in sizes.items():
        least, most = np.full((2, len(hardware_types)), [[np.inf], [-np.inf]])
        said = ~np.isnan(values)
        np.minimum.at(least, hardware_type[said], values[said])
        np.maximum.at(most, hardware_type[said], values[said])
        least[hardware_type[~said]] = np.nan
        for row in np.flatnonzero(least == most):
            found.setdefault(str(hardware_types[row]), {})[name] = float(least[row])
    return found
