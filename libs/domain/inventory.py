"""What a source says of the servers of a region: where they stand and of what type. Nothing of who uses them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats, Indices, Names, Topology


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inventory:
    """Servers (N of them), names unique.

    server           (N,) str
    rack             (N,) int     index into topology.racks
    hardware_type    (N,) int     index into hardware_types
    unavailability   (N,) str     values of Unavailability
    vcpu, memory_gib (N,) float   nan: not said
    """

    topology: Topology
    hardware_types: Names
    server: Names
    rack: Indices
    hardware_type: Indices
    unavailability: Names
    vcpu: Floats
    memory_gib: Floats

    def __len__(self) -> int:
        return len(self.server)

    @property
    def msb(self) -> Indices:
        """(N,) the MSB of each server."""
        return self.topology.rack_msb[self.rack]

    def attributes(self) -> dict[str, dict[str, float]]:
        """Hardware type -> what all of its servers agree on; nothing where they differ or one does not say."""
        found: dict[str, dict[str, float]] = {}
        for name, values in (("vcpu", self.vcpu), ("memory_gib", self.memory_gib)):
            least, most = np.full((2, len(self.hardware_types)), [[np.inf], [-np.inf]])
            said = ~np.isnan(values)
            np.minimum.at(least, self.hardware_type[said], values[said])
            np.maximum.at(most, self.hardware_type[said], values[said])
            least[self.hardware_type[~said]] = np.nan
            for row in np.flatnonzero(least == most):
                found.setdefault(str(self.hardware_types[row]), {})[name] = float(least[row])
        return found
